"""mxnet.base: the error that waits raise, the type of numbers, and what counts as a number, an integer or a text."""
import numpy as _np

from asyncgrad import Error as MXNetError  # noqa: F401

mx_real_t = _np.float32
numeric_types, integer_types, string_types = (float, int, _np.generic), (int, _np.int32, _np.int64), (str,)
