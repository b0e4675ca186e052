"""Layers that the C++ library computes as a whole, as Modules. A new one is a row in src/layers.cpp and a class here."""
from .. import _core
from .._scopes import evaluation
from .layers import activated, activation_of
from .module import Module


class NativeLayer(Module):
    """A layer of the C++ library. Its tensors are attributes by their names there."""

    _kind = None  # of _core

    def _make(self, *arguments):
        object.__setattr__(self, "_arguments", arguments)
        object.__setattr__(self, "_layer", self._kind(*arguments))

    def members(self):
        tree = {}
        for path, tensor in self._layer._state():
            node = tree
            *outer, last = path.split(".")
            for name in outer:
                node = node.setdefault(name, {})
            node[last] = tensor
        return tree

    def __setattr__(self, name, value):
        if isinstance(value, _core.Tensor) and name in dict(self._layer._state()):
            self._layer._rebind({name: value})
        else:
            super().__setattr__(name, value)

    def __getattr__(self, name):
        if not name.startswith("_"):
            members = self.members()
            if name in members:
                return members[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name}")

    def forward(self, x):
        if self.training or not _core.is_training():
            return self._layer(x)
        with evaluation():
            return self._layer(x)

    def _convert(self, convert):
        self._layer._rebind({path: convert(tensor) for path, tensor in self._layer._state()})

    def __deepcopy__(self, memo):
        copied = object.__new__(type(self))
        copied.__dict__.update({**self.__dict__, "_layer": self._layer._copy()})
        copied._convert(lambda tensor: tensor.__deepcopy__(memo))
        return copied

    def __getstate__(self):
        state = {name: value for name, value in self.__dict__.items() if name != "_layer"}
        return {**state, "_tensors": dict(self._layer._state())}

    def __setstate__(self, state):
        tensors = state.pop("_tensors")
        self.__dict__.update(state)
        object.__setattr__(self, "_layer", self._kind(*self._arguments))
        self._layer._rebind(tensors)

    def __repr__(self):
        shapes = ", ".join(f"{path}{tensor.shape}" for path, tensor in self._layer._state())
        return f"{type(self).__name__}({shapes})"


def _where(dtype, device):
    return str(dtype or "float32"), getattr(device, "_asyncgrad_device", device) or ""


class LayerNorm(NativeLayer):
    """(x - mean) / sqrt(variance + epsilon) weight + bias over the last axes: x (..., C) -> (..., C)."""

    _kind = _core._LayerNorm

    def __init__(self, row, epsilon=1e-5, bias=True, dtype=None, device=None):
        self._make(row, epsilon, bias, *_where(dtype, device))


class RMSNorm(NativeLayer):
    """x / sqrt(mean(x^2) + epsilon) weight over the last axes."""

    _kind = _core._RMSNorm

    def __init__(self, row, epsilon=1e-5, dtype=None, device=None):
        self._make(row, epsilon, *_where(dtype, device))


class _Convolution(NativeLayer):
    def __init__(self, inputs, outputs, kernel, activation=None, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 dtype=None, device=None):
        activation_of(activation)  # a wrong name raises here
        self.activation = activation
        self._make(inputs, outputs, kernel, stride, padding, dilation, groups, bias, *_where(dtype, device))

    def forward(self, x):
        return activated(self._layer(x), self.activation)


class Conv2d(_Convolution):
    """activation(conv2d(x, weight, bias)): x (N, I, H, W), weight (O, I / groups, h, w), bias (O) -> (N, O, P, Q).

    Sizes are numbers or pairs (height, width). The activation is a name or a function.
    """

    _kind = _core._Conv2d


class Conv1d(_Convolution):
    """The same with one axis: x (N, I, L), weight (O, I / groups, k), bias (O) -> (N, O, M)."""

    _kind = _core._Conv1d


class BatchNorm(NativeLayer):
    """(x - mean) / sqrt(variance + epsilon) weight + bias for each channel: x (N, C) or (N, C, ...).

    In training the statistics are those of the batch, and running_mean and running_var take the share `momentum` of them;
    in evaluation these take their place. affine=False: no weight and no bias.
    """

    _kind = _core._BatchNorm

    def __init__(self, channels, epsilon=1e-5, momentum=0.1, affine=True, dtype=None, device=None):
        self._make(channels, epsilon, momentum, affine, *_where(dtype, device))


class Dropout(NativeLayer):
    """In training 0 with probability p, else x / (1 - p); else x."""

    _kind = _core._Dropout

    def __init__(self, p=0.5):
        self._make(p)


class Embedding(NativeLayer):
    """weight[indices]: indices (...) int64, weight (count, features) -> (..., features)."""

    _kind = _core._Embedding

    def __init__(self, count, features, standard_deviation=1.0, dtype=None, device=None):
        self._make(count, features, standard_deviation, *_where(dtype, device))

    def scores(self, x):
        """x weight^T: x (..., features) -> (..., count)."""
        return self._layer.scores(x)


class _Recurrent(NativeLayer):
    def __init__(self, inputs, hidden, layers=1, both_directions=False, bias=True, dropout=0.0, dtype=None, device=None):
        self._make(inputs, hidden, layers, both_directions, bias, dropout, *_where(dtype, device))

    def run(self, x, lengths=None, h=None, c=None):
        """Everything that a call gives: (output, h), and c for an LSTM. States are (layers D, N, H)."""
        if self.training or not _core.is_training():
            output, h, c = self._layer.run(x, lengths, h, c)
        else:
            with evaluation():
                output, h, c = self._layer.run(x, lengths, h, c)
        return (output, h) if c is None else (output, h, c)


class RNN(_Recurrent):
    """h' = activation(x weight_ih + bias_ih + h weight_hh + bias_hh): x (T, N, I) -> (T, N, D H)."""

    _kind = _core._RNN

    def __init__(self, inputs, hidden, layers=1, both_directions=False, bias=True, dropout=0.0, activation="tanh",
                 dtype=None, device=None):
        if activation not in ("tanh", "relu"):
            raise ValueError(f"an RNN's activation is tanh or relu, not {activation}")
        self._make(inputs, hidden, layers, both_directions, bias, dropout, *_where(dtype, device), activation == "relu")


class GRU(_Recurrent):
    """Gated recurrent units: x (T, N, I) -> (T, N, D H). Columns of the gates: r, z, n."""

    _kind = _core._GRU


class LSTM(_Recurrent):
    """Long short-term memory: x (T, N, I) -> (T, N, D H). Columns of the gates: i, f, g, o."""

    _kind = _core._LSTM


class MultiHeadAttention(NativeLayer):
    """Attention with several heads: x (N, T, C) -> (N, T, C)."""

    _kind = _core._MultiHeadAttention

    def __init__(self, features, heads, causal=False, bias=True, dtype=None, device=None):
        self._make(features, heads, causal, bias, *_where(dtype, device))

    def attend(self, x, memory, mask=None):
        """x (N, T, C) attends to memory (N, S, C); the mask is added to the scores (N, heads, T, S)."""
        return self._layer.attend(x, memory, mask)


class TransformerBlock(NativeLayer):
    """Attention, then two dense layers, each added to its input: x (N, T, C) -> (N, T, C)."""

    _kind = _core._TransformerBlock

    def __init__(self, features, heads, hidden=0, causal=False, norm_first=True, dropout=0.0, activation="gelu",
                 epsilon=1e-5, bias=True, dtype=None, device=None):
        self._make(features, heads, hidden, causal, norm_first, dropout, activation, epsilon, bias, *_where(dtype, device))


class PositionalEncoding(NativeLayer):
    """x + table[0 ... T): x (..., T, C), with sines and cosines of the position."""

    _kind = _core._PositionalEncoding

    def __init__(self, longest, features, dtype=None, device=None):
        self._make(longest, features, *_where(dtype, device))


class Recompute(Module):
    """layer(x), of which nothing in between is kept: backward() computes it once more. Less memory for more time."""

    def __init__(self, layer):
        self.layer = layer

    def forward(self, x):
        return recompute(self.layer, x)


def recompute(function, x):
    """function(x), of which nothing in between is kept for the gradient: backward() computes it once more.

    The second time it gets the same random numbers, and where it is a layer, or a method of one, all layers in that
    train or evaluate as they did the first time, also after net.eval(). Any other function may not switch between the
    two before backward(). Parameters and all else that it reads get their gradients.
    """
    layer = getattr(function, "__self__", function)
    modes = [(module, module.training) for _, module in layer.modules()] if isinstance(layer, Module) else []
    is_again = False

    def compute(x):
        return _in_modes(modes, function, x) if is_again else function(x)

    y = _core._recomputed(compute, x)
    is_again = True
    return y


def _in_modes(modes, function, x):
    before = [(module, module.training) for module, _ in modes]
    try:
        for module, training in modes:
            object.__setattr__(module, "training", training)
        return function(x)
    finally:
        for module, training in before:
            object.__setattr__(module, "training", training)


class Residual(Module):
    """x + layer(x)."""

    def __init__(self, layer):
        self.layer = layer

    def forward(self, x):
        return x + self.layer(x)
