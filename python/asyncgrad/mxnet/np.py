"""mxnet.np: arrays with NumPy's names, of float32 unless they are given another type."""
import builtins as _builtins
import sys as _sys

import numpy as _np

import asyncgrad as _ag
from asyncgrad import array_api as _xp

from . import autograd as _autograd
from . import np_linalg as linalg
from . import random
from .multiarray import axis_of as _axis_of
from .multiarray import check_no_others as _check_no_others
from .multiarray import given as _given
from .multiarray import ndarray
from .np_creation import *  # noqa: F403
from .np_creation import array, eye, full, zeros
from .np_elementwise import *  # noqa: F403
from .np_elementwise import around, ceil, floor, trunc
from .np_fallback import *  # noqa: F403
from .np_fallback import fallback as _fallback
from .np_inverse import *  # noqa: F403
from .np_shapes import *  # noqa: F403
from .np_shapes import broadcast_to, concatenate, diagonal, take


def dot(a, b, out=None):
    """The sum over the last axis of a and the last but one of b, as numpy.dot."""
    return _given(_ag.dot(a, b), out)


def matmul(a, b, out=None):
    """The matrix product: (..., N, I) (..., I, O) -> (..., N, O)."""
    return _given(a @ b, out)


def tensordot(a, b, axes=2):
    """The sum of products over the last `axes` axes of a and the first of b, or over a pair of lists of axes."""
    if isinstance(axes, int):
        return _ag.tensordot(a, b, axes)
    of_a, of_b = ([axis] if isinstance(axis, int) else axis for axis in axes)
    return _ag.tensordot(a, b, [[_axis_of(axis, a.ndim) for axis in of_a], [_axis_of(axis, b.ndim) for axis in of_b]])


def einsum(subscripts, *operands, out=None, optimize=False):
    """The sum of products that the subscripts name, as numpy.einsum: "ij,jk->ik" is the matrix product.

    Without "->" the result has the letters that occur once, in alphabetical order. NumPy computes that of integers.
    """
    if _builtins.any(x.dtype.is_floating for x in operands):
        return _given(_ag.einsum(subscripts, *operands), out)
    with _autograd.pause():
        return _given(_einsum_of_integers(subscripts, *operands), out)


_einsum_of_integers = _fallback("einsum", lambda *args: _np.asarray(_np.einsum(*args)))


def _by_method(name):
    """The function of a method of arrays."""
    method = getattr(ndarray, name)

    def call(a, *args, **kwargs):
        _check_no_others(f"np.{name}", {key: kwargs.pop(key) for key in kwargs.keys() - _METHOD_ARGUMENTS})
        return method(a, *args, **kwargs)

    call.__name__, call.__doc__ = name, method.__doc__
    return call


_METHOD_ARGUMENTS = {"axis", "dtype", "out", "ddof", "keepdims"}
for _name in ("sum", "mean", "std", "var", "max", "min", "all", "any", "copy"):
    globals()[_name] = _by_method(_name)
amax, amin, sometrue = globals()["max"], globals()["min"], globals()["any"]


def argmax(a, axis=None, out=None):
    """The index of the first largest element of all, or along an axis, in int64."""
    return _given(_ag.argmax(a, axis), out)


def argmin(a, axis=None, out=None):
    """The index of the first smallest element of all, or along an axis, in int64."""
    return _given(_ag.argmin(a, axis), out)


def cumsum(a, axis=None, dtype=None, out=None):
    """The sums of the elements up to each, along an axis or, with None, of all in order. Integers keep their type."""
    if dtype is None and a.dtype != "bool":
        dtype = a.dtype
    return _given(_ag.cumsum(a if dtype is None else a.astype(dtype, copy=False), axis), out, dtype)


def prod(a, axis=None, dtype=None, out=None, keepdims=False):
    """The product of all elements, or over axes."""
    if dtype is None and a.dtype != "bool":
        dtype = a.dtype
    if axis is not None:
        axis = [_axis_of(one, a.ndim) for one in (axis if isinstance(axis, (tuple, list)) else [axis])]
    return _given(_ag.prod(a if dtype is None else a.astype(dtype, copy=False), axis, keepdims), out, dtype)


def where(condition, x=None, y=None):
    """x where the condition is not 0, else y; of the condition alone nonzero(condition)."""
    if x is None and y is None:
        return nonzero(condition)
    if not hasattr(x, "dtype") and not hasattr(y, "dtype"):
        x = full((), x, ctx=condition.ctx)  # numbers are float32
    return _ag.where(condition, x, y)


def outer(a, b):
    """The products of all elements of a with all of b: (a.size, b.size)."""
    return _ag.outer(a, b)


def inner(a, b):
    """The sums of the products along the last axes."""
    return tensordot(a, b, axes=([a.ndim - 1], [b.ndim - 1]))


def vdot(a, b):
    """The sum of the products of all elements in order."""
    return (a.reshape(-1) * b.reshape(-1)).sum()


def diff(a, n=1, axis=-1):
    """The differences of neighbours along an axis, n times."""
    return _xp.diff(a, axis=_axis_of(axis, a.ndim), n=n)


def diag(v, k=0):
    """The matrix with v on a diagonal, or a diagonal of the matrix v."""
    if v.ndim == 1:
        n = v.size + _builtins.abs(k)
        row = concatenate([zeros(_builtins.max(k, 0), v.dtype, ctx=v.ctx), v, zeros(_builtins.max(-k, 0), v.dtype, ctx=v.ctx)])
        return _ag.where(eye(n, k=k, dtype="bool", ctx=v.ctx), row, zeros((), v.dtype, ctx=v.ctx))
    if v.ndim != 2:
        raise ValueError(f"np.diag takes a vector or a matrix, not {v.shape}")
    return diagonal(v, k)


def diagflat(v, k=0):
    """The matrix with all elements of v on a diagonal."""
    return diag(v.reshape(-1), k)


def ediff1d(ary, to_end=None, to_begin=None):
    """The differences of neighbours of all elements in order, with values before and behind them."""
    parts = [to_begin, diff(_ag.reshape(ary, (-1,))), to_end]
    parts = [x if hasattr(x, "ndim") else array(x, dtype=ary.dtype, ctx=ary.ctx) for x in parts if x is not None]
    return concatenate([_ag.reshape(x, (-1,)) for x in parts])


def polyval(p, x):
    """p[0] x^(n-1) + ... + p[n-1]"""
    y = x * 0
    for i in range(p.size):
        y = y * x + p[i]
    return y


def trace(a, offset=0):
    """The sum of a diagonal of a matrix."""
    return diag(a, offset).sum()


def average(a, axis=None, weights=None, **others):
    """The mean, or with weights the sum of a weights divided by the sum of weights."""
    _check_no_others("np.average", others)
    if weights is None:
        return a.mean(axis)
    if weights.shape != a.shape:
        weights = weights.reshape([-1 if i == _axis_of(axis, a.ndim) else 1 for i in range(a.ndim)])
    weights = broadcast_to(weights, a.shape)
    return (a * weights).sum(axis) / weights.sum(axis)


def sort(a, axis=-1, **others):
    """The elements of an axis in ascending order, NaN last."""
    _check_no_others("np.sort", others)
    return _ag.sort(*_line(a, axis))[0]


def argsort(a, axis=-1, **others):
    """The indices that sort the elements of an axis. Equal ones stay in their order."""
    _check_no_others("np.argsort", others)
    return _ag.argsort(*_line(a, axis))


def _line(a, axis):
    """All elements in one axis for an axis of None."""
    return (a.reshape(-1), 0) if axis is None else (a, axis)


# Functions that wait for their arrays.

def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None):
    """The different elements in ascending order, and what else is asked for. Waits for the values."""
    found = _np.unique(ar.asnumpy(), return_index, return_inverse, return_counts, axis)
    if not isinstance(found, tuple):
        return array(found, dtype=ar.dtype, ctx=ar.ctx)
    return (array(found[0], dtype=ar.dtype, ctx=ar.ctx), *(_indices(part, ar) for part in found[1:]))


def argwhere(a):
    """The indices of the elements that are not 0: (count, a.ndim). Waits for the values."""
    return _ag.nonzero(a)


def bincount(x, weights=None, minlength=0):
    """How often each number occurs in x, or the sums of their weights. Waits for the values."""
    if weights is None:
        return _indices(_np.bincount(x.asnumpy(), minlength=minlength), x)
    return array(_np.bincount(x.asnumpy(), weights.asnumpy(), minlength), dtype=weights.dtype, ctx=x.ctx)


def nonzero(a):
    """The indices of the elements that are not 0, an array for each axis. Waits for the values."""
    return _xp.nonzero(a)


def _indices(values, like):
    return array(values, dtype="int64", ctx=like.ctx)


def array_equal(a1, a2):
    """Whether shapes and values are equal. Waits for the values."""
    return _ag.array_equal(a1, a2)


def allclose(a, b, rtol=1e-5, atol=1e-8):
    """Whether |a - b| <= atol + rtol |b| everywhere. Waits for the values."""
    return _ag.allclose(a, b, rtol, atol)


def may_share_memory(a, b):
    """Whether the bounds of their memory overlap. Waits for the values."""
    return _np.may_share_memory(_np.asarray(a), _np.asarray(b))


shares_memory = may_share_memory


def shape(a):
    """The extents, as a tuple."""
    return a.shape


def ndim(a):
    """The number of axes."""
    return a.ndim


def size(a):
    """The number of elements."""
    return a.size


# Methods that are functions of this module. multiarray.py does not import it, as that would be a circle.
ndarray.prod, ndarray.argsort, ndarray.nonzero, ndarray.cumsum, ndarray.take = prod, argsort, nonzero, cumsum, take
ndarray.dot, ndarray.round, ndarray.__round__ = dot, around, around
ndarray.__trunc__, ndarray.__floor__, ndarray.__ceil__ = trunc, floor, ceil
_sys.modules[__name__ + ".random"], _sys.modules[__name__ + ".linalg"] = random, linalg
