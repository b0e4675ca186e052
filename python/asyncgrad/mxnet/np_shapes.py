"""mxnet.np: the same elements in another shape or order, arrays that are joined and split."""
import math as _math

import numpy as _np

import asyncgrad as _ag
from asyncgrad import array_api as _xp

from .multiarray import axis_of as _axis_of
from .multiarray import check_order as _check_order
from .multiarray import given as _given
from .multiarray import indices_inside as _indices_inside
from .multiarray import number_beside as _number_beside
from .multiarray import owned as _owned
from .multiarray import wrapped as _wrapped


def concatenate(seq, axis=0, out=None):
    """The arrays one after another along an axis; with None all their elements in order."""
    joined = [x.reshape(-1) for x in seq] if axis is None else list(seq)
    return _given(_ag.concatenate(joined, axis or 0), out)


concat = concatenate


def stack(arrays, axis=0, out=None):
    """The arrays side by side along a new axis."""
    return _given(_ag.stack(list(arrays), axis), out)


def vstack(arrays):
    """The arrays one above another: (N) counts as (1, N)."""
    return concatenate([a.reshape(1, -1) if a.ndim < 2 else a for a in arrays], 0)


row_stack = vstack


def hstack(arrays):
    """The arrays along their second axis, or along the first of vectors."""
    arrays = [a.reshape(1) if a.ndim == 0 else a for a in arrays]
    return concatenate(arrays, 0 if arrays[0].ndim == 1 else 1)


def dstack(arrays):
    """The arrays along their third axis: (N) counts as (1, N, 1), and (M, N) as (M, N, 1)."""
    return concatenate([a.reshape(1, -1, 1) if a.ndim < 2 else a.reshape(*a.shape, 1) if a.ndim == 2 else a for a in arrays], 2)


def column_stack(tup):
    """The arrays side by side: (N) counts as (N, 1)."""
    return concatenate([a.reshape(-1, 1) if a.ndim < 2 else a for a in tup], 1)


def append(arr, values, axis=None):
    """The values behind arr, along an axis or, with None, all elements in order."""
    return concatenate([arr, values], axis)


def split(ary, indices_or_sections, axis=0):
    """The parts of an axis: as many equal ones, or those that begin at the given places."""
    return [_owned(part) for part in _ag.split(ary, indices_or_sections, axis)]


def array_split(ary, indices_or_sections, axis=0):
    """As split(), but the parts may differ by one element."""
    if not isinstance(indices_or_sections, int):
        return split(ary, indices_or_sections, axis)
    size, longer = divmod(ary.shape[axis], indices_or_sections)
    places = [i * size + (i if i < longer else longer) for i in range(1, indices_or_sections)]
    return split(ary, places, axis) if places else [ary]


def dsplit(ary, indices_or_sections):
    """split() along the third axis."""
    if ary.ndim < 3:
        raise ValueError(f"dsplit takes arrays of 3 axes or more, not of {ary.ndim}")
    return split(ary, indices_or_sections, 2)


def hsplit(ary, indices_or_sections):
    """split() along the second axis, or along the first of a vector."""
    return split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


def vsplit(ary, indices_or_sections):
    """split() along the first axis."""
    return split(ary, indices_or_sections, 0)


def reshape(a, newshape, order="C"):
    """The elements in the same order in another shape; one extent may be -1."""
    return a.reshape(newshape, order=order)


def ravel(x, order="C"):
    """All elements in order along one axis."""
    _check_order("np.ravel", order)
    return x.reshape(-1)


def transpose(a, axes=None):
    """The axes in another order; without `axes` in the opposite one."""
    return _ag.transpose(a, axes)


def swapaxes(a, axis1, axis2):
    """Two axes exchanged."""
    return _ag.swapaxes(a, axis1, axis2)


def moveaxis(a, source, destination):
    """One axis, or several, moved to other places; the rest stays in order."""
    sources, places = (tuple(_axis_of(axis, a.ndim) for axis in ([given] if isinstance(given, int) else given))
                       for given in (source, destination))
    return _xp.moveaxis(a, sources, places)


def rollaxis(a, axis, start=0):
    """An axis moved before the axis `start`, or behind the last one for a.ndim."""
    axis, start = _axis_of(axis, a.ndim), start + a.ndim if start < 0 else start
    return moveaxis(a, axis, start - 1 if start > axis else start)


def atleast_1d(*arys):
    """The arrays, of which those without axes get one; a list unless it is one array."""
    found = [a.reshape(1) if a.ndim == 0 else _owned(a) for a in arys]
    return found[0] if len(found) == 1 else found


def atleast_2d(*arys):
    """The arrays, of which (N) becomes (1, N); a list unless it is one array."""
    found = [a.reshape(1, -1) if a.ndim < 2 else _owned(a) for a in arys]
    return found[0] if len(found) == 1 else found


def atleast_3d(*arys):
    """The arrays, of which (N) becomes (1, N, 1) and (M, N) becomes (M, N, 1); a list unless it is one array."""
    found = [a.reshape(1, -1, 1) if a.ndim < 2 else a.reshape(*a.shape, 1) if a.ndim == 2 else _owned(a) for a in arys]
    return found[0] if len(found) == 1 else found


def expand_dims(a, axis):
    """With one more axis of extent 1."""
    return _owned(_ag.expand_dims(a, axis))


def squeeze(x, axis=None):
    """Without the axes of extent 1, or without the given ones."""
    return _owned(_ag.squeeze(x, axis))


def broadcast_to(array, shape):
    """The array repeated to a shape, as broadcasting does."""
    return _wrapped(_ag.broadcast_to(array, shape))


def tile(A, reps):
    """The whole array several times along each axis."""
    return _ag.tile(A, reps)


def repeat(a, repeats, axis=None):
    """Each element of an axis, or of all in order, several times."""
    return _wrapped(_ag.repeat(a, repeats, axis))


def flip(m, axis=None, out=None):
    """The elements of the axes in the opposite order."""
    return _given(_ag.flip(m, axis), out)


def flipud(m):
    """The rows in the opposite order."""
    return _ag.flip(m, 0)


def fliplr(m):
    """The columns in the opposite order."""
    return _ag.flip(m, 1)


def rot90(m, k=1, axes=(0, 1)):
    """Turned k times by a right angle, from the first of two axes toward the second."""
    first, second = (_axis_of(axis, m.ndim) for axis in axes)
    if first == second:
        raise ValueError(f"rot90 in the plane of axes {axes}")
    if k % 4 == 0:
        return m.copy()
    if k % 4 == 2:
        return _ag.flip(m, (first, second))
    if k % 4 == 1:
        return _ag.swapaxes(_ag.flip(m, second), first, second)
    return _ag.flip(_ag.swapaxes(m, first, second), second)


def broadcast_arrays(*args, subok=False):
    """The arrays repeated to the shape that they have in common."""
    shape = _np.broadcast_shapes(*(a.shape for a in args))
    return [broadcast_to(a, shape) for a in args]


def resize(a, new_shape):
    """The elements in order, from the beginning again where they do not suffice, in another shape."""
    new_shape = (new_shape,) if isinstance(new_shape, int) else tuple(new_shape)
    places = _ag.arange(_math.prod(new_shape), device=a.device) % a.size
    return _ag.reshape(_ag.take(_ag.reshape(a, (-1,)), places, 0), new_shape)


def diagonal(a, offset=0, axis1=0, axis2=1):
    """The elements a[..., i, ..., i + offset, ...] of two axes, along a last axis."""
    first, second = _axis_of(axis1, a.ndim), _axis_of(axis2, a.ndim)
    rest = [i for i in range(a.ndim) if i not in (first, second)]
    return _xp.linalg.diagonal(_ag.transpose(a, rest + [first, second]), offset=offset)


def insert(arr, obj, values, axis=None):
    """With the values before the index `obj` of an axis, or of all elements in order."""
    if not isinstance(obj, int):
        raise NotImplementedError("np.insert before several indices")
    if axis is None:
        arr, axis = _ag.reshape(arr, (-1,)), 0
    axis = _axis_of(axis, arr.ndim)
    if not -arr.shape[axis] <= obj <= arr.shape[axis]:
        raise IndexError(f"index {obj} is out of bounds for axis {axis} with size {arr.shape[axis]}")
    obj += arr.shape[axis] if obj < 0 else 0
    if not hasattr(values, "ndim"):
        values = _number_beside(arr, values)
    if values.ndim < arr.ndim:  # one element of the axis
        rest = [n for i, n in enumerate(arr.shape) if i != axis]
        values = _ag.expand_dims(_ag.broadcast_to(values, rest), axis)
    before, after = _ag.split(arr, [obj], axis)
    return concatenate([before, values.astype(arr.dtype, copy=False), after], axis)


def pad(x, pad_width, mode="constant", constant_values=0):
    """x with zeros around it: pad_width is a pair (before, after) for each axis."""
    if mode != "constant" or constant_values != 0:
        raise NotImplementedError(f"np.pad(mode={mode!r}, constant_values={constant_values!r})")
    return _ag.pad(x, pad_width, 0)


def delete(arr, obj, axis=None):
    """Without the elements of an axis at an index, a slice or a list of indices."""
    if axis is None:
        arr, axis = arr.reshape(-1), 0
    axis = _axis_of(axis, arr.ndim)
    places = range(arr.shape[axis])
    left = list(places)[obj] if isinstance(obj, slice) else [obj] if isinstance(obj, int) else [int(i) for i in obj]
    left = {places[i] for i in left}
    return arr[(slice(None),) * axis + ([i for i in places if i not in left],)]


def roll(a, shift, axis=None):
    """The elements of an axis, or of all in order, shifted in a circle."""
    return _wrapped(_ag.roll(a, shift, axis))


def take(a, indices, axis=None, mode="raise", out=None):
    """The elements of an axis, or of all in order, at the indices.

    Indices outside of the axis are an error of a later wait, or with mode="clip" the nearest one that is inside, or
    with mode="wrap" counted on from the other end.
    """
    if axis is None:
        a, axis = a.reshape(-1), 0
    extent = a.shape[_axis_of(axis, a.ndim)]
    if mode in ("clip", "wrap"):
        indices = _ag.asarray(indices, device=a.device).astype("int64")
        indices = _indices_inside(indices, extent, mode)
    elif mode != "raise":
        raise ValueError(f"a mode is 'raise', 'clip' or 'wrap', not {mode!r}")
    return _given(_ag.take(a, indices, axis), out)


def tril(m, k=0):
    """The matrices m with 0 above a diagonal."""
    return _ag.tril(m, k)


def triu(m, k=0):
    """The matrices m with 0 below a diagonal."""
    return _ag.triu(m, k)
