"""mxnet.np: arrays with NumPy's names, of float32 unless they are given another type."""
import sys as _sys

import numpy as _np

from .. import _core, _functions
from .. import _tensor as _methods
from . import random
from .context import device_of as _device
from .multiarray import dtype_of as _dtype
from .multiarray import ndarray
from .multiarray import wrapped as _wrapped

pi, e, inf, nan, newaxis = _np.pi, _np.e, _np.inf, _np.nan, None
float32, float64, int32, int64, uint8, int8, float16, bool_ = (
    _np.float32, _np.float64, _np.int32, _np.int64, _np.uint8, _np.int8, _np.float16, _np.bool_)
dtype = _np.dtype


def array(object, dtype=None, ctx=None):
    """Lists become float32; arrays keep their type."""
    if isinstance(object, (list, tuple)) and _np.any([isinstance(item, ndarray) for item in _leaves(object)]):
        object = _np.array(_unwrapped(object))
        dtype = dtype or "float32"
    if dtype is None:
        dtype = object.dtype if hasattr(object, "dtype") else "float32"
    return _wrapped(_core.array(object, _dtype(dtype), _device(ctx)))


def _leaves(items):
    for item in items:
        if isinstance(item, (list, tuple)):
            yield from _leaves(item)
        else:
            yield item


def _unwrapped(items):
    return [_unwrapped(item) if isinstance(item, (list, tuple)) else item.asnumpy() if isinstance(item, ndarray) else item
            for item in items]


def zeros(shape, dtype=None, order="C", ctx=None):
    return _wrapped(_core.full(shape, 0, _dtype(dtype), _device(ctx)))


def ones(shape, dtype=None, order="C", ctx=None):
    return _wrapped(_core.full(shape, 1, _dtype(dtype), _device(ctx)))


def full(shape, fill_value, order="C", dtype=None, ctx=None, out=None):
    return _wrapped(_core.full(shape, fill_value, _dtype(dtype), _device(ctx)))


empty = zeros


def zeros_like(prototype, dtype=None, **_):
    return _wrapped(_core.full(prototype.shape, 0, _dtype(dtype or prototype.dtype), prototype.device))


def ones_like(a, dtype=None, **_):
    return _wrapped(_core.full(a.shape, 1, _dtype(dtype or a.dtype), a.device))


def full_like(a, fill_value, dtype=None, **_):
    return _wrapped(_core.full(a.shape, fill_value, _dtype(dtype or a.dtype), a.device))


def arange(start, stop=None, step=1, dtype=None, ctx=None):
    return _wrapped(_core.arange(start, stop, step, _dtype(dtype), _device(ctx)))


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, ctx=None):
    return _wrapped(_functions.linspace(start, stop, num, endpoint, _dtype(dtype), _device(ctx)))


def eye(N, M=None, k=0, dtype="float32", ctx=None, **_):
    return _wrapped(_functions.eye(N, M, k, _dtype(dtype), _device(ctx)))


identity = eye


def meshgrid(*xi, indexing="xy", **_):
    return [_wrapped(x) for x in _functions.meshgrid(*xi, indexing=indexing)]


def genfromtxt(*args, **kwargs):
    return array(_np.genfromtxt(*args, **kwargs).astype("float32"))


def dot(a, b, out=None):
    return _methods.dot_of(a, b)


def matmul(a, b, out=None):
    return a @ b


def tensordot(a, b, axes=2):
    if isinstance(axes, int):
        return a.reshape(*a.shape[:a.ndim - axes], -1) @ b.reshape(-1, *b.shape[axes:]) if axes else outer(a, b).reshape(a.shape + b.shape)
    of_a, of_b = ([axis] if isinstance(axis, int) else list(axis) for axis in axes)
    rest_a = [i for i in range(a.ndim) if i not in [axis % a.ndim for axis in of_a]]
    rest_b = [i for i in range(b.ndim) if i not in [axis % b.ndim for axis in of_b]]
    count = int(_np.prod([a.shape[i] for i in of_a]))
    x = a.transpose(*rest_a, *[axis % a.ndim for axis in of_a]).reshape(-1, count)
    y = b.transpose(*[axis % b.ndim for axis in of_b], *rest_b).reshape(count, -1)
    return (x @ y).reshape(*[a.shape[i] for i in rest_a], *[b.shape[i] for i in rest_b])


def _floats(x):
    return x if not isinstance(x, _core.Tensor) or x.dtype.is_floating else x.astype("float32")


def _unary(name, function, number):
    def call(x, out=None, **_):
        if not isinstance(x, _core.Tensor):
            return number(x)
        result = function(_floats(x))
        if out is not None:
            out[...] = result
            return out
        return result

    call.__name__ = name
    return call


for _name in ("exp", "log", "sqrt", "sin", "cos", "tanh", "log1p", "expm1"):
    globals()[_name] = _unary(_name, getattr(_core, _name), getattr(_np, _name))
tan = _unary("tan", lambda x: _core.sin(x) / _core.cos(x), _np.tan)
sinh = _unary("sinh", lambda x: (_core.exp(x) - _core.exp(-x)) / 2, _np.sinh)
cosh = _unary("cosh", lambda x: (_core.exp(x) + _core.exp(-x)) / 2, _np.cosh)
log2 = _unary("log2", lambda x: _core.log(x) / _np.log(2.0), _np.log2)
log10 = _unary("log10", lambda x: _core.log(x) / _np.log(10.0), _np.log10)
reciprocal = _unary("reciprocal", lambda x: 1 / x, _np.reciprocal)


def _same(name, number):
    function = getattr(_core, name)

    def call(x, out=None, **_):
        return function(x) if isinstance(x, _core.Tensor) else number(x)

    call.__name__ = name
    return call


for _name in ("abs", "square", "sign", "floor"):
    globals()[_name] = _same(_name, getattr(_np, _name))
absolute = globals()["abs"]
around = round = lambda x, decimals=0: _core.round(x * 10 ** decimals) / 10 ** decimals if decimals else _core.round(x)
ceil = lambda x: -_core.floor(-x)
rint = lambda x: _core.round(x)


def maximum(x1, x2, out=None):
    return _core.maximum(x1, x2)


def minimum(x1, x2, out=None):
    return _core.minimum(x1, x2)


def add(x1, x2, out=None):
    return x1 + x2


def subtract(x1, x2, out=None):
    return x1 - x2


def multiply(x1, x2, out=None):
    return x1 * x2


def divide(x1, x2, out=None):
    return x1 / x2


true_divide = divide


def power(x1, x2, out=None):
    return x1 ** x2


def mod(x1, x2, out=None):
    return x1 % x2


def negative(x, out=None):
    return -x


def equal(x1, x2):
    return x1 == x2


def not_equal(x1, x2):
    return x1 != x2


def less(x1, x2):
    return x1 < x2


def less_equal(x1, x2):
    return x1 <= x2


def greater(x1, x2):
    return x1 > x2


def greater_equal(x1, x2):
    return x1 >= x2


def sum(a, axis=None, dtype=None, out=None, keepdims=False, **_):
    return a.sum(axis=axis, keepdims=keepdims)


def mean(a, axis=None, dtype=None, out=None, keepdims=False):
    return a.mean(axis=axis, keepdims=keepdims)


def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
    return a.std(axis=axis, ddof=ddof, keepdims=keepdims)


def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
    return a.var(axis=axis, ddof=ddof, keepdims=keepdims)


def max(a, axis=None, out=None, keepdims=False):
    return a.max(axis=axis, keepdims=keepdims)


def min(a, axis=None, out=None, keepdims=False):
    return a.min(axis=axis, keepdims=keepdims)


def argmax(a, axis=None, out=None):
    return _core.argmax(a, axis)


def argmin(a, axis=None, out=None):
    return _core.argmin(a, axis)


def cumsum(a, axis=None, dtype=None, out=None):
    return _core.cumsum(a, axis)


def prod(a, axis=None, **_):
    raise NotImplementedError("np.prod")


def clip(a, a_min, a_max, out=None):
    return _core.clip(a, a_min, a_max)


def where(condition, x=None, y=None):
    return _core.where(condition, x, y)


def concatenate(seq, axis=0, out=None):
    return _core.concatenate(list(seq), axis) if axis is not None else _core.concatenate([x.reshape(-1) for x in seq], 0)


concat = concatenate


def stack(arrays, axis=0, out=None):
    return _core.stack(list(arrays), axis)


def vstack(arrays):
    return concatenate([a.reshape(1, -1) if a.ndim < 2 else a for a in arrays], 0)


def hstack(arrays):
    arrays = list(arrays)
    return concatenate(arrays, 0 if arrays[0].ndim == 1 else 1)


def split(ary, indices_or_sections, axis=0):
    return _core.split(ary, indices_or_sections, axis)


def reshape(a, newshape, order="C"):
    return a.reshape(newshape)


def transpose(a, axes=None):
    return _core.transpose(a, axes)


def swapaxes(a, axis1, axis2):
    return _core.swapaxes(a, axis1, axis2)


def moveaxis(a, source, destination):
    order = [i for i in range(a.ndim) if i != source % a.ndim]
    order.insert(destination % a.ndim, source % a.ndim)
    return _core.transpose(a, order)


def expand_dims(a, axis):
    return _core.expand_dims(a, axis)


def squeeze(x, axis=None):
    return _core.squeeze(x, axis)


def broadcast_to(array, shape):
    return _core.broadcast_to(array, shape)


def tile(A, reps):
    return _core.tile(A, reps)


def repeat(a, repeats, axis=None):
    return _wrapped(_functions.repeat(a, repeats, axis))


def flip(m, axis=None, out=None):
    return _core.flip(m, axis)


def roll(a, shift, axis=None):
    return _wrapped(_functions.roll(a, shift, axis))


def ravel(x, order="C"):
    return x.reshape(-1)


def take(a, indices, axis=None, mode="raise", out=None):
    return _core.take(a.reshape(-1) if axis is None else a, indices, axis or 0)


def tril(m, k=0):
    return _core.tril(m, k)


def triu(m, k=0):
    return _core.triu(m, k)


def outer(a, b):
    return _functions.outer(a, b)


def copy(a):
    return a.copy()


def sort(a, axis=-1):
    """Waits for the values: there is no sort on the engine."""
    return array(_np.sort(a.asnumpy(), axis), dtype=a.dtype, ctx=a.ctx)


def argsort(a, axis=-1):
    """Waits for the values: there is no sort on the engine."""
    return array(_np.argsort(a.asnumpy(), axis), dtype="int64", ctx=a.ctx)


def unique(ar, *args, **kwargs):
    """Waits for the values."""
    return array(_np.unique(ar.asnumpy()), dtype=ar.dtype, ctx=ar.ctx)


def nonzero(a):
    """Waits for the values."""
    return tuple(array(places, dtype="int64", ctx=a.ctx) for places in _np.nonzero(a.asnumpy()))


def isnan(x):
    return _core.isnan(x)


def isfinite(x):
    return _core.isfinite(x)


def logical_not(x, out=None):
    return _core.logical_not(x)


def logical_and(x1, x2, out=None):
    return _core.logical_and(x1, x2)


def logical_or(x1, x2, out=None):
    return _core.logical_or(x1, x2)


def logical_xor(x1, x2, out=None):
    return _core.logical_xor(x1, x2)


def array_equal(a, b):
    return _functions.array_equal(a, b)


def allclose(a, b, rtol=1e-5, atol=1e-8):
    return _functions.allclose(a, b, rtol, atol)


def may_share_memory(a, b):
    return _np.may_share_memory(_np.asarray(a), _np.asarray(b))


shares_memory = may_share_memory


def shape(a):
    return a.shape


def ndim(a):
    return a.ndim


def size(a):
    return a.size


def expand_like(a, b):
    return _core.broadcast_to(a, b.shape)


def all(a, axis=None, keepdims=False):
    return a.all(axis, keepdims)


def any(a, axis=None, keepdims=False):
    return a.any(axis, keepdims)


class linalg:
    """mxnet.np.linalg: the norm."""

    @staticmethod
    def norm(x, ord=None, axis=None, keepdims=False):
        if ord == 1:
            return _core.abs(x).sum(axis=axis, keepdims=keepdims)
        if ord not in (None, 2, "fro"):
            raise NotImplementedError(f"np.linalg.norm(ord={ord!r})")
        return _core.norm(x, axis, keepdims)


_sys.modules[__name__ + ".random"] = random
