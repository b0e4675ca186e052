"""PyTorch as a system of networks.py: each layer as its users write it for speed."""
import networks
import torch
from torch import nn
from torch.nn import functional


def use_gpu(device):
    """Computes there as who cares for speed does, in float32, as products are without being asked."""
    torch.cuda.set_device(device)  # whose stream is waited for, and captured
    torch.backends.cudnn.benchmark = True  # convolutions by the fastest algorithm
    torch.backends.cudnn.allow_tf32 = False


class Attention(nn.Module):
    """Attention with several heads; the mask is true where a key is seen."""

    def __init__(self, features, heads, causal):
        super().__init__()
        self.qkv, self.out = nn.Linear(features, 3 * features), nn.Linear(features, features)
        self.heads, self.causal = heads, causal

    def forward(self, x, mask=None):
        sequences, length, features = x.shape
        parts = self.qkv(x).view(sequences, length, 3, self.heads, features // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        y = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(x.shape))


ACTIVATIONS = {"relu": nn.ReLU, "gelu": nn.GELU}


class System(networks.Drawn):
    def __init__(self, device="cpu", compiles=False):
        super().__init__()
        self.device, self.compiles = device, compiles

    def compiled(self, function):
        return torch.compile(function) if self.compiles else function

    def forget_peak(self):
        if self.device != "cpu":
            torch.cuda.reset_peak_memory_stats()

    def figures(self):
        return {} if self.device == "cpu" else {"peak_bytes": torch.cuda.max_memory_allocated()}

    def _words(self, shape):
        words = torch.frombuffer(bytearray(self.words(torch.Size(shape).numel())), dtype=torch.int32)
        return words.reshape(shape).to(self.device)

    def _uniform(self, shape, scale):
        return self._words(shape).float() * (scale * 2**-31)

    def _register(self, layer, drawn=True):
        layer.to(self.device)
        with torch.no_grad():
            for parameter in layer.parameters():
                if drawn:
                    parameter.copy_(self._uniform(parameter.shape, networks.scale_of(parameter.shape)))
                self.parameters.append(parameter)
        return layer

    def _activated(self, layer, activation):
        return nn.Sequential(layer, ACTIVATIONS[activation]()) if activation else layer

    def parameter(self, *shape):
        self.parameters.append(nn.Parameter(self._uniform(shape, networks.scale_of(shape))))
        return self.parameters[-1]

    def normal(self, *shape):
        return self._uniform(shape, 3**0.5)

    def integers(self, below, *shape):
        return (self._words(shape).long() & 0x7FFFFFFF) % below

    def arange(self, count):
        return torch.arange(count, device=self.device)

    def conv(self, inputs, outputs, kernel, stride=1, padding=0, groups=1, bias=True, activation=None):
        layer = nn.Conv2d(inputs, outputs, kernel, stride, padding, groups=groups, bias=bias)
        return self._activated(self._register(layer), activation)

    def conv1d(self, inputs, outputs, kernel, dilation=1):
        return self._register(nn.Conv1d(inputs, outputs, kernel, dilation=dilation))

    def dense(self, inputs, outputs, activation=None, bias=True):
        return self._activated(self._register(nn.Linear(inputs, outputs, bias)), activation)

    def embedding(self, count, features):
        return self._register(nn.Embedding(count, features))

    def batch_norm(self, channels):
        return self._register(nn.BatchNorm2d(channels), drawn=False)

    def layer_norm(self, features):
        return self._register(nn.LayerNorm(features), drawn=False)

    def attention(self, features, heads, causal):
        return self._register(Attention(features, heads, causal))

    def lstm(self, inputs, hidden, layers):
        layer = self._register(nn.LSTM(inputs, hidden, layers))
        return lambda x: layer(x)[0]

    def gru(self, inputs, hidden, layers):
        layer = self._register(nn.GRU(inputs, hidden, layers))
        return lambda x: layer(x)[0]

    def sgd(self, parameters, lr, momentum):
        return torch.optim.SGD(parameters, lr, momentum, fused=True)

    def adam(self, parameters, lr):
        return torch.optim.Adam(parameters, lr, fused=True)

    max_pool, avg_pool = nn.MaxPool2d, nn.AvgPool2d
    cross_entropy = staticmethod(functional.cross_entropy)
    concat = staticmethod(torch.cat)
    relu, sigmoid, tanh, softplus = map(staticmethod, (torch.relu, torch.sigmoid, torch.tanh, functional.softplus))

    @staticmethod
    def floating(x):
        return x.float()

    @staticmethod
    def flatten(x):
        return x.flatten(1)

    @staticmethod
    def global_mean(x):
        return x.mean((2, 3))

    @staticmethod
    def doubled(x):
        return functional.interpolate(x, scale_factor=2)

    @staticmethod
    def padded_left(x, count):
        return functional.pad(x, (count, 0))
