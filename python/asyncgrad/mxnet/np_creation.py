"""mxnet.np: types, constants and new arrays."""
import numpy as _np

from .. import _core, _functions
from .context import device_of as _device
from .multiarray import check_no_others as _check_no_others
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
    if dtype is None and isinstance(fill_value, bool):
        dtype = "bool"
    return _wrapped(_core.full(shape, fill_value, _dtype(dtype), _device(ctx)))


empty = zeros


def zeros_like(prototype, dtype=None, **others):
    _check_no_others("np.zeros_like", others)
    return _wrapped(_core.full(prototype.shape, 0, _dtype(dtype or prototype.dtype), prototype.device))


def ones_like(a, dtype=None, **others):
    _check_no_others("np.ones_like", others)
    return _wrapped(_core.full(a.shape, 1, _dtype(dtype or a.dtype), a.device))


def full_like(a, fill_value, dtype=None, **others):
    _check_no_others("np.full_like", others)
    return _wrapped(_core.full(a.shape, fill_value, _dtype(dtype or a.dtype), a.device))


empty_like = zeros_like


def arange(start, stop=None, step=1, dtype=None, ctx=None):
    return _wrapped(_core.arange(start, stop, step, _dtype(dtype), _device(ctx)))


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, ctx=None):
    return _wrapped(_functions.linspace(start, stop, num, endpoint, _dtype(dtype), _device(ctx)))


def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0, ctx=None):
    powers = linspace(start, stop, num, endpoint, dtype=dtype, axis=axis, ctx=ctx)
    return _core.exp(powers * float(_np.log(base)))


def eye(N, M=None, k=0, dtype="float32", ctx=None, **others):
    _check_no_others("np.eye", others)
    return _wrapped(_functions.eye(N, M, k, _dtype(dtype), _device(ctx)))


identity = eye


def meshgrid(*xi, indexing="xy", **others):
    _check_no_others("np.meshgrid", others)
    return [_wrapped(x) for x in _functions.meshgrid(*xi, indexing=indexing)]


def genfromtxt(*args, **kwargs):
    return array(_np.genfromtxt(*args, **kwargs).astype("float32"))
