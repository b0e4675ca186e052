"""mxnet.base: errors, the type of numbers, and what counts as a number, an integer or a text. MXNetError is what waits raise."""
import numpy as _np

from asyncgrad import Error as MXNetError  # noqa: F401

mx_real_t = _np.float32
numeric_types, integer_types, string_types = (float, int, _np.generic), (int, _np.int32, _np.int64), (str,)


def unwritten(instance, method):
    """The error of a method that every subclass writes itself."""
    return NotImplementedError(f"{type(instance).__name__} has no {method}(): its class, or one that it derives from, has to write it")
