"""mxnet.npx: other shapes and parts of arrays."""
import builtins as _builtins

import numpy as _np

import asyncgrad as _ag

from .multiarray import owned as _owned
from .multiarray import rows_of as _rows_of
from .multiarray import wrapped as _wrapped


def reshape(a, newshape, reverse=False, order="C"):
    """The elements in the same order in another shape, in which some numbers have a meaning.

    -1 is what is left, -2 the input's extent there, -3 skips one of extent 1, -4 all extents that are left, -5 the
    product of two extents, and -6 splits one into the two that follow, of which one may be -1.
    """
    if order != "C" or reverse:
        raise NotImplementedError(f"npx.reshape(reverse={reverse}, order={order!r})")
    codes = list(newshape) if isinstance(newshape, (list, tuple)) else [newshape]
    extents, shape = list(a.shape), []
    while codes:
        code = codes.pop(0)
        if len(extents) < {-2: 1, -3: 1, -5: 2, -6: 1}.get(code, 0) or (code == -6 and len(codes) < 2):
            raise ValueError(f"npx.reshape of {a.shape} to {newshape}")
        if code == -4:
            shape, extents = shape + extents, []
        elif code == -5:
            shape.append(extents.pop(0) * extents.pop(0))
        elif code == -6:
            shape += _halves(extents.pop(0), codes.pop(0), codes.pop(0))
        elif code == -3:
            if extents.pop(0) != 1:
                raise ValueError(f"npx.reshape: -3 is for an extent of 1, in {a.shape} to {newshape}")
        else:
            extent = extents.pop(0) if extents else None
            shape.append(extent if code == -2 else code)
    return a.reshape(shape)


def _halves(extent, first, second):
    if first == -1 and second > 0:
        first = extent // second
    elif second == -1 and first > 0:
        second = extent // first
    if first * second != extent:
        raise ValueError(f"npx.reshape: an extent of {extent} is not split into {first} times {second}")
    return [first, second]


def batch_flatten(data):
    """A row for each element of the first axis: (N, A, B) -> (N, A B)."""
    return _owned(_rows_of(data))


def slice(data, begin, end, step=None):  # noqa: A001
    """The elements from begin up to, but without, end along the first axes; None is the axis's own bound."""
    steps = [None] * len(begin) if step is None else step
    return data[tuple(_builtins.slice(*bounds) for bounds in zip(begin, end, steps, strict=True))].copy()


def gather_nd(data, indices):
    """data[tuple(indices)]: the rows of indices (K, ...) are indices of the first K axes."""
    return data[tuple(indices[i].astype("int64") for i in range(indices.shape[0]))]


def nonzero(a):
    """The indices (N, axes) of the elements that are not 0. Waits for the values."""
    return _ag.nonzero(a)


def shape_array(data):
    """The extents, as int64."""
    return _wrapped(_ag.array(_np.array(data.shape, "int64"), "int64", data.device))


def reshape_like(lhs, rhs):
    """lhs in the shape of rhs."""
    return lhs.reshape(rhs.shape)
