"""mxnet.util: switches to NumPy's semantics, which arrays have always."""
import contextlib as _contextlib

from .npx import is_np_array, is_np_shape, reset_np, set_np  # noqa: F401


def use_np(function):
    """The function or class itself."""
    return function


use_np_array = use_np_shape = use_np


class np_shape(_contextlib.ContextDecorator):
    """A scope, or what decorates a function, that changes nothing."""

    def __init__(self, active=True):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


np_array = np_shape
