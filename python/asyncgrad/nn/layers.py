"""Layers whose members have the names of the C++ library's."""
import math

from .. import _core
from . import init
from .module import Module

ACTIVATIONS = {name: getattr(_core, name) for name in
               ("relu", "sigmoid", "tanh", "gelu", "gelu_tanh", "silu", "softplus", "exp", "softmax")}


def activation_of(activation):
    """The function of a name; a function as it is; None for none."""
    if isinstance(activation, str):
        if activation not in ACTIVATIONS:
            raise ValueError(f"an activation is one of {', '.join(ACTIVATIONS)}, not {activation}")
        return ACTIVATIONS[activation]
    return activation


def activated(y, activation):
    """activation(y), of a name, a function or None."""
    return y if activation is None else activation_of(activation)(y)


class Dense(Module):
    """activation(x weight + bias): x (..., I), weight (I, O), bias (O) -> (..., O)."""

    def __init__(self, inputs, outputs, activation=None, bias=True, initialiser=init.xavier_uniform, dtype=None, device=None):
        if inputs < 1 or outputs < 1:
            raise ValueError(f"a Dense({inputs}, {outputs})")
        self.weight = _core.parameter(initialiser((inputs, outputs), dtype, device))
        self.bias = _core.parameter(_core.zeros(outputs, dtype=dtype, device=device)) if bias else None
        self.activation = activation
        self._fused = "relu" if activation == "relu" or activation is _core.relu else None
        activation_of(activation)  # a wrong name raises here

    def forward(self, x):
        y = _core.dense(x, self.weight, self.bias, self._fused)
        return y if self._fused else activated(y, self.activation)


class Flatten(Module):
    """(N, A, B, ...) -> (N, A B ...); shares the values."""

    def forward(self, x):
        return x.reshape(x.shape[0], math.prod(x.shape[1:]))


class MaxPool2d(Module):
    """The largest element of each window: (N, C, H, W) -> (N, C, P, Q). The stride is the kernel's size unless given."""

    _pool = staticmethod(_core.max_pool2d)

    def __init__(self, kernel, stride=None, padding=0):
        self.kernel, self.stride, self.padding = kernel, stride, padding

    def forward(self, x):
        return self._pool(x, self.kernel, self.stride, self.padding)


class AvgPool2d(MaxPool2d):
    """The mean of each window, in which padding counts as 0."""

    _pool = staticmethod(_core.avg_pool2d)


class GlobalAvgPool2d(Module):
    """The mean of each channel: (N, C, H, W) -> (N, C)."""

    def forward(self, x):
        if x.ndim != 4:
            raise ValueError(f"a GlobalAvgPool2d takes (N, C, H, W), not {x.shape}")
        return x.mean(axis=(2, 3))


class Lambda(Module):
    """A function as a layer."""

    def __init__(self, function):
        self.function = function

    def forward(self, x):
        return self.function(x)
