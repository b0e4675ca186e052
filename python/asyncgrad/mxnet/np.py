"""mxnet.np: arrays with NumPy's names, of float32 unless they are given another type."""
import builtins as _builtins
import sys as _sys

import numpy as _np

from .. import _core, _functions
from .. import _tensor as _methods
from . import random
from .multiarray import check_no_others as _check_no_others
from .multiarray import given as _given
from .multiarray import ndarray
from .np_creation import *  # noqa: F403
from .np_creation import array, eye, full, ones_like, zeros
from .np_shapes import *  # noqa: F403
from .np_shapes import broadcast_to, concatenate


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


def _unary(name, function, number):
    def call(x, out=None, **others):
        _check_no_others(f"np.{name}", others)
        if not isinstance(x, _core.Tensor):
            return number(x)
        if x.dtype.is_floating:
            return _given(function(x), out)
        return _given(function(x.astype("float32")), out, None if x.dtype == "bool" else x.dtype)  # integers stay so

    call.__name__ = name
    return call


for _name in ("exp", "log", "sqrt", "sin", "cos", "tanh", "log1p", "expm1"):
    globals()[_name] = _unary(_name, getattr(_core, _name), getattr(_np, _name))
tan = _unary("tan", lambda x: _core.sin(x) / _core.cos(x), _np.tan)
sinh = _unary("sinh", lambda x: (_core.exp(x) - _core.exp(-x)) / 2, _np.sinh)
cosh = _unary("cosh", lambda x: (_core.exp(x) + _core.exp(-x)) / 2, _np.cosh)
log2 = _unary("log2", lambda x: _core.log(x) / _np.log(2.0), _np.log2)
log10 = _unary("log10", lambda x: _core.log(x) / _np.log(10.0), _np.log10)
degrees = _unary("degrees", lambda x: x * (180 / _np.pi), _np.degrees)
radians = _unary("radians", lambda x: x * (_np.pi / 180), _np.radians)
trunc = fix = _unary("trunc", lambda x: _core.sign(x) * _core.floor(_core.abs(x)), _np.trunc)
reciprocal = _unary("reciprocal", lambda x: 1 / x, _np.reciprocal)


def _same(name, number):
    function = getattr(_core, name)

    def call(x, out=None, **others):
        _check_no_others(f"np.{name}", others)
        return _given(function(x), out) if isinstance(x, _core.Tensor) else number(x)

    call.__name__ = name
    return call


for _name in ("abs", "square", "sign", "floor"):
    globals()[_name] = _same(_name, getattr(_np, _name))
absolute = fabs = globals()["abs"]
around = round = lambda x, decimals=0: _core.round(x * 10 ** decimals) / 10 ** decimals if decimals else _core.round(x)
ceil = _unary("ceil", lambda x: -_core.floor(-x), _np.ceil)
rint = lambda x: _core.round(x)


def maximum(x1, x2, out=None):
    return _given(_core.maximum(x1, x2), out)


def minimum(x1, x2, out=None):
    return _given(_core.minimum(x1, x2), out)


def hypot(x1, x2, out=None):
    return _given(_core.sqrt(x1 * x1 + x2 * x2), out)


def add(x1, x2, out=None):
    return _given(x1 + x2, out)


def subtract(x1, x2, out=None):
    return _given(x1 - x2, out)


def multiply(x1, x2, out=None):
    return _given(x1 * x2, out)


def divide(x1, x2, out=None):
    return _given(x1 / x2, out)


true_divide = divide


def power(x1, x2, out=None):
    return _given(x1 ** x2, out)


def mod(x1, x2, out=None):
    return _given(x1 % x2, out)


def negative(x, out=None):
    return _given(-x, out)


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


def sum(a, axis=None, dtype=None, out=None, keepdims=False, **others):
    _check_no_others("np.sum", others)
    return a.sum(axis, dtype, out, keepdims)


def mean(a, axis=None, dtype=None, out=None, keepdims=False):
    return a.mean(axis, dtype, out, keepdims)


def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
    return a.std(axis, dtype, out, ddof, keepdims)


def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
    return a.var(axis, dtype, out, ddof, keepdims)


def max(a, axis=None, out=None, keepdims=False):
    return a.max(axis, out, keepdims)


def min(a, axis=None, out=None, keepdims=False):
    return a.min(axis, out, keepdims)


amax, amin = max, min


def argmax(a, axis=None, out=None):
    return _given(_core.argmax(a, axis), out)


def argmin(a, axis=None, out=None):
    return _given(_core.argmin(a, axis), out)


def cumsum(a, axis=None, dtype=None, out=None):
    return _given(_core.cumsum(a if dtype is None else a.astype(dtype), axis), out)


def prod(a, axis=None, dtype=None, out=None, keepdims=False):
    """Multiplies the halves of an axis until one element is left."""
    x = a if dtype is None else a.astype(dtype)
    if axis is None:
        shape = (1,) * x.ndim if keepdims else ()
        return _given(prod(x.reshape(-1), 0).reshape(shape), out)
    if isinstance(axis, (tuple, list)):
        for one in sorted((one % x.ndim for one in axis), reverse=True):
            x = prod(x, one, keepdims=keepdims)
        return _given(x, out)
    axis = range(x.ndim)[axis]
    before = (slice(None),) * axis
    if x.shape[axis] == 0:
        return _given(ones_like(x.sum(axis, keepdims=keepdims)), out)
    while x.shape[axis] > 1:
        half = x.shape[axis] // 2
        halves = x[before + (slice(0, half),)] * x[before + (slice(half, 2 * half),)]
        x = concatenate([halves, x[before + (slice(2 * half, None),)]], axis) if x.shape[axis] % 2 else halves
    return _given(x if keepdims else x.squeeze(axis), out)


def clip(a, a_min, a_max, out=None):
    return _given(_core.clip(a, a_min, a_max), out)


def where(condition, x=None, y=None):
    if x is None and y is None:
        return nonzero(condition)
    if not hasattr(x, "dtype") and not hasattr(y, "dtype"):
        x = full((), x, ctx=condition.ctx)  # numbers are float32
    return _core.where(condition, x, y)


def outer(a, b):
    return _functions.outer(a, b)


def inner(a, b):
    """The sums of the products along the last axes."""
    return tensordot(a, b, axes=([a.ndim - 1], [b.ndim - 1]))


def vdot(a, b):
    return (a.reshape(-1) * b.reshape(-1)).sum()


def diff(a, n=1, axis=-1):
    before = (slice(None),) * (axis % a.ndim)
    for _ in range(n):
        a = a[before + (slice(1, None),)] - a[before + (slice(None, -1),)]
    return a


def diag(v, k=0):
    """The matrix with v on a diagonal, or a diagonal of the matrix v."""
    if v.ndim == 1:
        n = v.size + _builtins.abs(k)
        return eye(n, k=k, dtype=v.dtype, ctx=v.ctx) * concatenate(
            [zeros(_builtins.max(k, 0), v.dtype, ctx=v.ctx), v, zeros(_builtins.max(-k, 0), v.dtype, ctx=v.ctx)])
    rows, columns = v.shape
    first = _builtins.max(-k, 0)
    count = _builtins.min(rows - first, columns - _builtins.max(k, 0))
    return v.reshape(-1)[first * columns + _builtins.max(k, 0)::columns + 1][:count]


def trace(a, offset=0):
    return diag(a, offset).sum()


def average(a, axis=None, weights=None):
    if weights is None:
        return a.mean(axis)
    if weights.shape != a.shape:
        weights = weights.reshape([-1 if i == axis % a.ndim else 1 for i in range(a.ndim)])
    weights = broadcast_to(weights, a.shape)
    return (a * weights).sum(axis) / weights.sum(axis)


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


def argwhere(a):
    """Waits for the values."""
    return array(_np.argwhere(a.asnumpy()), dtype="int64", ctx=a.ctx)


def bincount(x, weights=None, minlength=0):
    """Waits for the values."""
    return array(_np.bincount(x.asnumpy(), None if weights is None else weights.asnumpy(), minlength), dtype="int64", ctx=x.ctx)


def nonzero(a):
    """Waits for the values."""
    return tuple(array(places, dtype="int64", ctx=a.ctx) for places in _np.nonzero(a.asnumpy()))


def isnan(x):
    return _core.isnan(x)


def isinf(x):
    return _core.abs(x) == inf


def isposinf(x, out=None):
    return _given(x == inf, out)


def isneginf(x, out=None):
    return _given(x == -inf, out)


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
