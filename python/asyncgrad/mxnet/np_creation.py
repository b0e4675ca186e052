"""mxnet.np: types, constants and new arrays."""
import numpy as _np

import asyncgrad as _ag

from .context import device_of as _device
from .multiarray import check_no_others as _check_no_others
from .multiarray import dtype_of as _dtype
from .multiarray import given as _given
from .multiarray import ndarray
from .multiarray import wrapped as _wrapped

NaN = NAN = _np.nan
PINF, NINF, PZERO, NZERO = _np.inf, -_np.inf, 0.0, -0.0
pi, e, inf, nan, newaxis = _np.pi, _np.e, _np.inf, _np.nan, None
float32, float64, int32, int64, uint8, int8, float16, bool_ = (
    _np.float32, _np.float64, _np.int32, _np.int64, _np.uint8, _np.int8, _np.float16, _np.bool_)
dtype, bool = _np.dtype, bool  # noqa: A001


def array(object, dtype=None, ctx=None):
    """A copy of numbers, nested lists and arrays. Lists become float32; arrays keep their type."""
    if isinstance(object, (list, tuple)) and any(isinstance(item, ndarray) for item in _leaves(object)):
        object = _np.array(_unwrapped(object))
        dtype = dtype or "float32"
    if dtype is None:
        dtype = object.dtype if hasattr(object, "dtype") else "float32"
    return _wrapped(_ag.array(object, _dtype(dtype), _device(ctx)))


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
    """Zeros of a shape."""
    return _wrapped(_ag.full(shape, 0, _dtype(dtype), _device(ctx)))


def ones(shape, dtype=None, order="C", ctx=None):
    """Ones of a shape."""
    return _wrapped(_ag.full(shape, 1, _dtype(dtype), _device(ctx)))


def _filled(shape, number, dtype, device):
    """One number everywhere. Integers lose its fraction."""
    dtype = _dtype(dtype)
    if dtype == "bool":
        number = bool(number)
    elif not dtype.startswith("float"):
        number = int(number)
    return _wrapped(_ag.full(shape, number, dtype, device))


def full(shape, fill_value, order="C", dtype=None, ctx=None, out=None):
    """One number everywhere, without its fraction in integers."""
    if dtype is None and isinstance(fill_value, bool):
        dtype = "bool"
    return _given(_filled(shape, fill_value, dtype, _device(ctx)), out)


empty = zeros


def _full_like(name, like, value, dtype, others):
    _check_no_others(f"np.{name}", others)
    return _filled(like.shape, value, dtype or like.dtype, like.device)


def zeros_like(prototype, dtype=None, **others):
    """Zeros of the shape, type and device of an array."""
    return _full_like("zeros_like", prototype, 0, dtype, others)


def ones_like(a, dtype=None, **others):
    """Ones of the shape, type and device of an array."""
    return _full_like("ones_like", a, 1, dtype, others)


def full_like(a, fill_value, dtype=None, **others):
    """One number everywhere, with the shape, type and device of an array."""
    return _full_like("full_like", a, fill_value, dtype, others)


empty_like = zeros_like


def arange(start, stop=None, step=1, dtype=None, ctx=None):
    """start, start + step, ... below stop; float32 unless it is given another type."""
    start, stop, step = (x.item() if hasattr(x, "item") else x for x in (start, stop, step))
    return _wrapped(_ag.arange(start, stop, step, _dtype(dtype), _device(ctx)))


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, ctx=None):
    """`num` numbers from start to stop, evenly spaced."""
    _check_no_others("np.linspace", {"retstep": retstep, "axis": axis or None})
    return _wrapped(_ag.linspace(start, stop, num, endpoint, _dtype(dtype), _device(ctx)))


def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0, ctx=None):
    """base^start to base^stop in `num` numbers whose logarithms are evenly spaced."""
    powers = linspace(start, stop, num, endpoint, axis=axis, ctx=ctx)
    return _given(_ag.exp(powers * float(_np.log(base))), dtype=dtype)


def eye(N, M=None, k=0, dtype="float32", ctx=None, **others):
    """1 on a diagonal of a matrix (N, M), 0 elsewhere."""
    _check_no_others("np.eye", others)
    return _wrapped(_ag.eye(N, M, k, _dtype(dtype), _device(ctx)))


def identity(n, dtype=None, ctx=None):
    """1 on the diagonal of a matrix (n, n), 0 elsewhere."""
    return eye(n, dtype=dtype, ctx=ctx)


def meshgrid(*xi, indexing="xy", **others):
    """The coordinates of a grid, an array for each axis."""
    _check_no_others("np.meshgrid", others)
    return [_wrapped(x) for x in _ag.meshgrid(*xi, indexing=indexing)]


def indices(dimensions, dtype="int32", ctx=None):
    """The index along each axis of a shape, for each element: (axes, *dimensions)."""
    return array(_np.indices(dimensions), dtype=dtype, ctx=ctx)


def _window(name):
    function = getattr(_np, name)

    def call(M, dtype=None, ctx=None):
        return array(function(M), dtype=dtype or "float32", ctx=ctx)

    call.__name__, call.__doc__ = name, f"As numpy.{name}: a window of M numbers, of float32."
    return call


blackman, hamming, hanning = (_window(name) for name in ("blackman", "hamming", "hanning"))


def genfromtxt(*args, **kwargs):
    """What numpy.genfromtxt reads, as float32."""
    return array(_np.genfromtxt(*args, **kwargs).astype("float32"))
