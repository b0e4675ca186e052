"""Functions that find, select and sort elements."""
from typing import NamedTuple

from .. import _core
from .._computed import computed
from ._shapes import axis_of

__all__ = ["argmax", "argmin", "argsort", "nonzero", "searchsorted", "sort", "take", "take_along_axis", "unique_all",
           "unique_counts", "unique_inverse", "unique_values", "where"]

Tensor = _core.Tensor


def argmax(x, /, *, axis=None, keepdims=False):
    """The index of the first largest element of all, or along an axis, in int64."""
    return _core.argmax(x, axis, keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    """The index of the first smallest element of all, or along an axis, in int64."""
    return _core.argmin(x, axis, keepdims)


def nonzero(x, /):
    """The indices of the elements that are not 0: a tensor for each axis, in int64. Waits for x."""
    if x.ndim == 0:
        raise ValueError("[nonzero] a tensor without axes has no indices")
    places = _core.nonzero(x)
    return tuple(places[:, axis] for axis in range(x.ndim))


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """Where each element of x2 belongs in the sorted vector x1, in int64: before its equals, or behind them with "right".

    `sorter` are the places of the elements of x1 in their order.
    """
    if side not in ("left", "right"):
        raise ValueError(f"[searchsorted] side is 'left' or 'right', not {side!r}")
    if x1.ndim != 1:
        raise ValueError(f"[searchsorted] x1 has one axis, not {x1.shape}")
    x1 = x1 if sorter is None else take(x1, sorter)

    def found(x1, x2):
        return x1.searchsorted(x2, side)

    return computed("searchsorted", found, [x1, x2], x2.shape, "int64")


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """The elements of an axis in their order; NaN counts as the largest."""
    return _core.sort(x, axis, descending)[0]


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """The places of the elements of an axis in their order, in int64; equal ones stay in theirs."""
    return _core.argsort(x, axis, descending)


def _counted(indices, extent):
    """Indices of which negative ones are counted from the end."""
    return _core.ravel_multi_index([indices], [extent])


def take(x, indices, /, *, axis=None):
    """The elements of an axis at the indices, of which negative ones are counted from the end."""
    if axis is None and x.ndim != 1:
        raise ValueError(f"[take] a tensor of {x.ndim} axes needs an axis")
    axis = axis_of(0 if axis is None else axis, x.ndim)
    return _core.take(x, _counted(indices, x.shape[axis]), axis)


def take_along_axis(x, indices, /, *, axis=-1):
    """For each index, of which negative ones are counted from the end, the element of the axis beside it."""
    axis = axis_of(axis, x.ndim)
    if indices.ndim != x.ndim:
        raise ValueError(f"[take_along_axis] the indices have {indices.ndim} axes, x has {x.ndim}")
    extents = [extent if i == axis else max(extent, x.shape[i]) for i, extent in enumerate(indices.shape)]
    indices = _core.broadcast_to(_counted(indices, x.shape[axis]), extents)
    return _core.take_along_axis(_core.broadcast_to(x, [*extents[:axis], x.shape[axis], *extents[axis + 1:]]), indices, axis)


def where(condition, x1, x2, /):
    """x1 where the condition is not 0, else x2."""
    return _core.where(condition, x1, x2)


# --- Different elements: NaN, of which each counts as another, comes last.

class _All(NamedTuple):
    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class _Counts(NamedTuple):
    values: Tensor
    counts: Tensor


class _Inverse(NamedTuple):
    values: Tensor
    inverse_indices: Tensor


def unique_all(x, /):
    """The different elements, ascending, where each is first, where each of x is among them, and how often. Waits for x."""
    values, inverse, counts = _core.unique(x)
    by_value = _core.argsort(inverse.reshape(-1))  # equal ones stay in their order, so the first one comes first
    return _All(values, by_value.take(_core.cumsum(counts) - counts), inverse.reshape(x.shape), counts)


def unique_counts(x, /):
    """The different elements, ascending, and how often each is there. Waits for x."""
    values, _, counts = _core.unique(x)
    return _Counts(values, counts)


def unique_inverse(x, /):
    """The different elements, ascending, and where each element of x is among them. Waits for x."""
    values, inverse, _ = _core.unique(x)
    return _Inverse(values, inverse.reshape(x.shape))


def unique_values(x, /):
    """The different elements, ascending. Waits for x."""
    return _core.unique(x)[0]
