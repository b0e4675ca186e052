"""Functions that reduce axes or go along one."""
import math

from .. import _core
from .._functions import root_of_variance
from ._shapes import axes_of, axis_of

__all__ = ["all", "any", "count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "max", "mean", "min", "prod", "std",
           "sum", "var"]


def all(x, /, *, axis=None, keepdims=False):
    """Whether no element of all, or over axes, is 0, as bool."""
    return _core.all(x, axis, keepdims)


def any(x, /, *, axis=None, keepdims=False):
    """Whether an element of all, or over axes, is not 0, as bool."""
    return _core.any(x, axis, keepdims)


def count_nonzero(x, /, *, axis=None, keepdims=False):
    """How many elements of all, or over axes, are not 0, in int64."""
    return _core.sum(_core.not_equal(x, 0), axis, keepdims)


def max(x, /, *, axis=None, keepdims=False):
    """The largest element of all, or over axes; NaN if there is one."""
    return _core.max(x, axis, keepdims)


def mean(x, /, *, axis=None, keepdims=False):
    """The mean of all elements, or over axes."""
    return _core.mean(x, axis, keepdims)


def min(x, /, *, axis=None, keepdims=False):
    """The smallest element of all, or over axes; NaN if there is one."""
    return _core.min(x, axis, keepdims)


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The square root of var()."""
    return root_of_variance(var(x, axis=axis, correction=correction, keepdims=keepdims))


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The variance of all elements, or over axes: divided by their number less `correction`, of which 0 is left at least."""
    count = math.prod(x.shape[one] for one in axes_of(axis, x.ndim))
    if count > correction:
        return _core.var(x, axis, correction, keepdims)
    return _core.sum(_core.square(x - _core.mean(x, axis, True)), axis, keepdims) / 0.0


def _in_type(x, dtype):
    """x in the type in which it is added up: of integers int64."""
    if dtype is None:
        dtype = x.dtype if x.dtype.is_floating else "int64"
    return x.astype(dtype, copy=False), dtype


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    """The sum of all elements, or over axes; of integers in int64."""
    x, dtype = _in_type(x, dtype)
    return _core.sum(x, axis, keepdims).astype(dtype, copy=False)


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """The product of all elements, or over axes; of integers in int64."""
    x, dtype = _in_type(x, dtype)
    return _core.prod(x, axis, keepdims).astype(dtype, copy=False)


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """The sums of the elements up to each along an axis, after a 0 if it is asked for; of integers in int64."""
    return _cumulative("cumulative_sum", x, axis, dtype, include_initial, 0, _core.cumsum)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """The products of the elements up to each along an axis, after a 1 if it is asked for; of integers in int64."""
    return _cumulative("cumulative_prod", x, axis, dtype, include_initial, 1, _running_products)


def _cumulative(name, x, axis, dtype, include_initial, initial, function):
    if axis is None and x.ndim != 1:
        raise ValueError(f"[{name}] a tensor of {x.ndim} axes needs an axis")
    axis = axis_of(0 if axis is None else axis, x.ndim)
    x, dtype = _in_type(x, dtype)
    y = function(x, axis).astype(dtype, copy=False)
    if not include_initial:
        return y
    first = _core.full(x.shape[:axis] + (1,) + x.shape[axis + 1:], initial, y.dtype, y.device)
    return _core.concatenate([first, y], axis)


def _running_products(x, axis):
    """The products over 2 elements up to each, then over 4, and so on: each step multiplies by those of half as many."""
    before, width = (slice(None),) * axis, 1
    while width < x.shape[axis]:
        later = x[before + (slice(width, None),)] * x[before + (slice(None, -width),)]
        x = _core.concatenate([x[before + (slice(None, width),)], later], axis)
        width *= 2
    return x


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    """The differences of neighbours along an axis, n times, of x between `prepend` and `append`."""
    if n < 0:
        raise ValueError(f"[diff] n must be at least 0, got {n}")
    parts = [part for part in (prepend, x, append) if part is not None]
    axis = axis_of(axis, x.ndim)
    x = _core.concatenate(parts, axis) if len(parts) > 1 else x
    before = (slice(None),) * axis
    for _ in range(n):
        x = x[before + (slice(1, None),)] - x[before + (slice(None, -1),)]
    return x
