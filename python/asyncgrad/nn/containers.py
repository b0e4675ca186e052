"""Modules around other layers and functions."""
from .. import _core
from .module import Module, checked_layer


class Lambda(Module):
    """A function as a layer."""

    def __init__(self, function):
        self.function = checked_layer(function)

    def forward(self, x):
        return self.function(x)


class Recompute(Module):
    """layer(x), of which nothing in between is kept: backward() computes it once more. Less memory for more time."""

    def __init__(self, layer):
        self.layer = checked_layer(layer)

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
        self.layer = checked_layer(layer)

    def forward(self, x):
        return x + self.layer(x)
