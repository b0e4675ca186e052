"""Importing this module makes einops take tensors: einops.rearrange(x, "n h w -> n (h w)").

einops asks the backends that it finds by their class. Without this module the functions of einops.array_api, which have
the same names, take tensors, too.
"""
from einops._backends import NumpyBackend

import asyncgrad as ag


class Backend(NumpyBackend):
    """What einops calls: as for NumPy, with the functions of asyncgrad."""

    framework_name = "asyncgrad"

    def __init__(self):
        self.np = ag

    def is_appropriate_type(self, tensor):
        return isinstance(tensor, ag.Tensor)

    def from_numpy(self, x):
        return ag.array(x)

    def to_numpy(self, x):
        return x.numpy()
