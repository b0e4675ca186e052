"""mxnet.np: inverses of circular functions, cube roots and other functions of each element that NumPy computes here.

cbrt() waits for its input. The gradients of all are computed as those of other functions are.
"""
import numpy as _np

import asyncgrad as _ag
from asyncgrad import array_api as _xp

from .autograd import Function as _Function
from .multiarray import computed as _computed
from .multiarray import given as _given
from .multiarray import number_beside as _number_beside
from .np_elementwise import _unary


def _by_numpy(name, derivative, of_array=None):
    """numpy's function of that name, with its derivative as a function of x and of the result."""
    function = getattr(_np, name)
    of_array = of_array or function

    class Computed(_Function):
        def forward(self, x):
            y = _computed(of_array(_np.asarray(x)), x)
            self.save_for_backward(x, y)
            return y

        def backward(self, dy):
            return dy * derivative(*self.saved_tensors)

    Computed.__name__ = name
    call = _unary(name, lambda x: Computed()(x), function)
    call.__doc__ += " Waits for the values."
    return call


for _name, _standard in (("arcsin", _xp.asin), ("arccos", _xp.acos), ("arctan", _xp.atan), ("arcsinh", _xp.asinh),
                         ("arccosh", _xp.acosh), ("arctanh", _xp.atanh)):
    globals()[_name] = _unary(_name, _standard, getattr(_np, _name))
cbrt = _by_numpy("cbrt", lambda x, y: 1 / (3 * y * y), lambda x: _np.cbrt(x.astype("float64")))  # cbrt of float32 is not exact


def arctan2(x1, x2, out=None):
    """The angle of the point (x2, x1), in (-pi, pi]."""
    array, other = (x1, x2) if isinstance(x1, _ag.Tensor) else (x2, x1)
    if not isinstance(array, _ag.Tensor):
        return _np.arctan2(x1, x2)
    x1, x2 = (x if isinstance(x, _ag.Tensor) else _number_beside(array, x) for x in (x1, x2))
    x1 = x1 if x1.dtype.is_floating else x1.astype("float32")
    return _given(_xp.atan2(x1, x2.astype(x1.dtype, copy=False)), out)
