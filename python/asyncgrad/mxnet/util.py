"""mxnet.util: switches to NumPy's semantics, which arrays have always."""
from .npx import is_np_array, is_np_shape, reset_np, set_np  # noqa: F401


def use_np(function):
    """The function or class itself."""
    return function


use_np_array = use_np_shape = use_np
