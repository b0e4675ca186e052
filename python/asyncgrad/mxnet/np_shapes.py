"""mxnet.np: the same elements in another shape or order, arrays that are joined and split."""
from .. import _core, _functions
from .multiarray import given as _given
from .multiarray import wrapped as _wrapped


def concatenate(seq, axis=0, out=None):
    joined = [x.reshape(-1) for x in seq] if axis is None else list(seq)
    return _given(_core.concatenate(joined, axis or 0), out)


concat = concatenate


def stack(arrays, axis=0, out=None):
    return _given(_core.stack(list(arrays), axis), out)


def vstack(arrays):
    return concatenate([a.reshape(1, -1) if a.ndim < 2 else a for a in arrays], 0)


def dstack(arrays):
    return concatenate([a.reshape(1, -1, 1) if a.ndim < 2 else a.reshape(*a.shape, 1) if a.ndim == 2 else a for a in arrays], 2)


row_stack = vstack


def column_stack(arrays):
    return concatenate([a.reshape(-1, 1) if a.ndim < 2 else a for a in arrays], 1)


def append(arr, values, axis=None):
    return concatenate([arr, values], axis)


def hstack(arrays):
    arrays = list(arrays)
    return concatenate(arrays, 0 if arrays[0].ndim == 1 else 1)


def split(ary, indices_or_sections, axis=0):
    return _core.split(ary, indices_or_sections, axis)


def array_split(ary, indices_or_sections, axis=0):
    """As split(), but the parts may differ by one element."""
    if not isinstance(indices_or_sections, int):
        return split(ary, indices_or_sections, axis)
    size, longer = divmod(ary.shape[axis], indices_or_sections)
    places = [i * size + (i if i < longer else longer) for i in range(1, indices_or_sections)]
    return split(ary, places, axis) if places else [ary]


def hsplit(ary, indices_or_sections):
    return split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


def vsplit(ary, indices_or_sections):
    return split(ary, indices_or_sections, 0)


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


def rollaxis(a, axis, start=0):
    axis, start = axis % a.ndim, start + a.ndim if start < 0 else start
    return moveaxis(a, axis, start - 1 if start > axis else start)


def atleast_1d(*arys):
    found = [a.reshape(1) if a.ndim == 0 else a for a in arys]
    return found[0] if len(found) == 1 else found


def atleast_2d(*arys):
    found = [a.reshape(1, -1) if a.ndim < 2 else a for a in arys]
    return found[0] if len(found) == 1 else found


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


def flipud(m):
    return _core.flip(m, 0)


def fliplr(m):
    return _core.flip(m, 1)


def pad(x, pad_width, mode="constant", constant_values=0):
    if mode != "constant" or constant_values != 0:
        raise NotImplementedError(f"np.pad(mode={mode!r}, constant_values={constant_values!r})")
    return _core.pad(x, pad_width, 0)


def delete(arr, obj, axis=None):
    """Without the elements of an axis at an index, or at several."""
    if axis is None:
        arr, axis = arr.reshape(-1), 0
    places = range(arr.shape[axis])
    left = list(places)[obj] if isinstance(obj, slice) else [obj] if isinstance(obj, int) else [int(i) for i in obj]
    left = {places[i] for i in left}
    return arr[(slice(None),) * (axis % arr.ndim) + ([i for i in places if i not in left],)]


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
