"""asyncgrad's Python package as a system of networks.py, on the default device."""
import asyncgrad as ag
import networks
import numpy


class System(networks.Drawn):
    def compiled(self, function):
        return function

    def forget_peak(self):
        ag.reset_peaks()

    def figures(self):
        return {"peak_bytes": ag.memory()["peak_live_bytes"]}

    def _words(self, shape):
        return numpy.frombuffer(self.words(int(numpy.prod(shape))), numpy.int32).reshape(shape)

    def _uniform(self, shape, scale):
        return self._words(shape).astype(numpy.float32) * numpy.float32(scale * 2**-31)

    def _register(self, layer, drawn=True, transposed=False):
        """Parameters are drawn in PyTorch's shapes; `transposed`: matrices of the layer are (inputs, outputs)."""
        for parameter in layer.parameters():
            if drawn:
                turned = transposed and len(parameter.shape) == 2
                shape = parameter.shape[::-1] if turned else parameter.shape
                values = self._uniform(shape, networks.scale_of(shape))
                with ag.no_grad():
                    parameter[...] = ag.array(values.T if turned else values)
            self.parameters.append(parameter)
        return layer

    def parameter(self, *shape):
        self.parameters.append(ag.parameter(ag.array(self._uniform(shape, networks.scale_of(shape)))))
        return self.parameters[-1]

    def normal(self, *shape):
        return ag.array(self._uniform(shape, 3**0.5))

    def integers(self, below, *shape):
        return ag.array((self._words(shape).astype(numpy.int64) & 0x7FFFFFFF) % below)

    def conv(self, inputs, outputs, kernel, stride=1, padding=0, groups=1, bias=True, activation=None):
        options = {"stride": stride, "padding": padding, "groups": groups, "bias": bias}
        return self._register(ag.nn.Conv2d(inputs, outputs, kernel, activation, **options))

    def conv1d(self, inputs, outputs, kernel, dilation=1):
        return self._register(ag.nn.Conv1d(inputs, outputs, kernel, dilation=dilation))

    def dense(self, inputs, outputs, activation=None, bias=True):
        return self._register(ag.nn.Dense(inputs, outputs, activation, bias=bias), transposed=True)

    def embedding(self, count, features):
        return self._register(ag.nn.Embedding(count, features))

    def batch_norm(self, channels):
        return self._register(ag.nn.BatchNorm(channels), drawn=False)

    def layer_norm(self, features):
        return self._register(ag.nn.LayerNorm(features), drawn=False)

    def attention(self, features, heads, causal):
        layer = self._register(ag.nn.MultiHeadAttention(features, heads, causal), transposed=True)
        return lambda x, mask=None: layer(x) if mask is None else layer.attend(x, x, mask)

    def lstm(self, inputs, hidden, layers):
        return self._register(ag.nn.LSTM(inputs, hidden, layers), transposed=True)

    def gru(self, inputs, hidden, layers):
        return self._register(ag.nn.GRU(inputs, hidden, layers), transposed=True)

    def sgd(self, parameters, lr, momentum):
        return ag.optim.SGD(parameters, lr=lr, momentum=momentum)

    def adam(self, parameters, lr):
        return ag.optim.Adam(parameters, lr=lr)

    max_pool, avg_pool = ag.nn.MaxPool2d, ag.nn.AvgPool2d
    global_mean, flatten = ag.nn.GlobalAvgPool2d(), ag.nn.Flatten()
    arange, concat = staticmethod(ag.arange), staticmethod(ag.concat)
    relu, sigmoid, tanh, softplus = map(staticmethod, (ag.relu, ag.sigmoid, ag.tanh, ag.softplus))

    @staticmethod
    def cross_entropy(logits, labels):
        return ag.cross_entropy(logits, labels).mean()

    @staticmethod
    def floating(x):
        return x.astype("float32")

    @staticmethod
    def doubled(x):
        n, c, h, w = x.shape
        return x.reshape(n, c, h, 1, w, 1).broadcast_to((n, c, h, 2, w, 2)).reshape(n, c, 2 * h, 2 * w)

    @staticmethod
    def padded_left(x, count):
        return ag.pad(x, ((0, 0), (0, 0), (count, 0)))
