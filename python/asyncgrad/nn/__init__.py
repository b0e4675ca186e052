"""Layers and losses.

A layer is a Module: its attributes are its members. Tensors that require a gradient are parameters, others buffers; lists
and dicts of layers count, too. Names are those of the C++ library, so files go both ways.

    class Scale(ag.nn.Module):
        def __init__(self):
            self.weight = ag.parameter(ag.ones(1))

        def forward(self, x):
            return x * self.weight
"""
from .._core import half_squared_error, l2_loss, softmax_cross_entropy, squared_error
from . import init
from .containers import Lambda, Recompute, Residual, recompute
from .layers import *  # noqa: F403
from .module import Module, Sequential
