"""mxnet.np: inverses of circular functions, cube roots and other functions of each element that NumPy computes here.

They wait for their input. Their gradients are computed as those of other functions are.
"""
import numpy as _np

import asyncgrad as _ag

from .autograd import Function as _Function
from .multiarray import computed as _computed
from .multiarray import given as _given
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


arcsin = _by_numpy("arcsin", lambda x, y: 1 / _ag.sqrt(1 - x * x))
arccos = _by_numpy("arccos", lambda x, y: -1 / _ag.sqrt(1 - x * x))
arctan = _by_numpy("arctan", lambda x, y: 1 / (1 + x * x))
arcsinh = _by_numpy("arcsinh", lambda x, y: 1 / _ag.hypot(x, 1.0))
arccosh = _by_numpy("arccosh", lambda x, y: 1 / _ag.sqrt(x * x - 1))
arctanh = _by_numpy("arctanh", lambda x, y: 1 / (1 - x * x))
cbrt = _by_numpy("cbrt", lambda x, y: 1 / (3 * y * y), lambda x: _np.cbrt(x.astype("float64")))  # cbrt of float32 is not exact


class _Angle(_Function):
    def forward(self, y, x):
        self.save_for_backward(y, x)
        return _computed(_np.arctan2(_np.asarray(y), _np.asarray(x)), y)

    def backward(self, d):
        y, x = self.saved_tensors
        square = x * x + y * y
        return [d * x / square, -d * y / square]


def arctan2(x1, x2, out=None):
    """The angle of the point (x2, x1), in (-pi, pi]. Waits for the values."""
    array, other = (x1, x2) if isinstance(x1, _ag.Tensor) else (x2, x1)
    if not isinstance(array, _ag.Tensor):
        return _np.arctan2(x1, x2)
    x1, x2 = (x if isinstance(x, _ag.Tensor) else _ag.full((), x, dtype=array.dtype, device=array.device) for x in (x1, x2))
    shape = _np.broadcast_shapes(x1.shape, x2.shape)
    return _given(_Angle()(_ag.broadcast_to(x1, shape), _ag.broadcast_to(x2, shape)), out)
