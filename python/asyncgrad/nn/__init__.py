"""Layers and losses.

A layer is a Module: its attributes are its members. Tensors that require a gradient are parameters, others buffers; lists
and dicts of layers count, too. Names are those of the C++ library, so files go both ways.

    class Scale(ag.nn.Module):
        def __init__(self):
            self.weight = ag.parameter(ag.ones(1))

        def forward(self, x):
            return x * self.weight
"""
from .._core import (
    binary_cross_entropy, cosine_loss, cosine_similarity, ctc_loss, half_squared_error, huber_loss, kl_divergence, l1_loss, l2_loss,
    nll_loss, softmax_cross_entropy, squared_error, update_running,
)
from . import init
from .containers import Lambda, Recompute, Residual, recompute
from .layers import *  # noqa: F403
from .module import Module, Sequential
