"""The same elements in another shape or order."""
from .. import _core, _functions
from .._functions import axis_of

__all__ = ["broadcast_arrays", "broadcast_to", "concat", "expand_dims", "flip", "moveaxis", "permute_dims", "repeat",
           "reshape", "roll", "squeeze", "stack", "tile", "unstack"]


def axes_of(axis, ndim):
    """The numbers of an axis or of several, of all with None."""
    if axis is None:
        return list(range(ndim))
    axes = [axis_of(one, ndim) for one in (axis if isinstance(axis, tuple) else (axis,))]
    if len(set(axes)) != len(axes):
        raise ValueError(f"an axis is named twice in {axis}")
    return axes


def broadcast_arrays(*arrays):
    """The tensors repeated to the shape that they have in common."""
    import numpy

    shape = numpy.broadcast_shapes(*(x.shape for x in arrays))
    return [x if x.shape == shape else _core.broadcast_to(x, shape) for x in arrays]


def broadcast_to(x, /, shape):
    """x repeated to a shape."""
    return _core.broadcast_to(x, shape)


def concat(arrays, /, *, axis=0):
    """The tensors one after another along an axis; with None all their elements in order."""
    if axis is None:
        return _core.concatenate([x.reshape(-1) for x in arrays], 0)
    return _core.concatenate(list(arrays), axis)


def expand_dims(x, /, axis):
    """x with a new axis of one element."""
    if not -x.ndim - 1 <= axis <= x.ndim:
        raise IndexError(f"axis {axis} is out of bounds for a tensor that gets {x.ndim + 1} axes")
    return _core.expand_dims(x, axis)


def flip(x, /, *, axis=None):
    """The elements of the axes, or of all, in the opposite order."""
    return _core.flip(x, axis)


def moveaxis(x, source, destination, /):
    """One axis, or several, moved to other places; the rest stays in order."""
    sources, places = axes_of(source, x.ndim), axes_of(destination, x.ndim)
    if len(sources) != len(places):
        raise ValueError(f"moveaxis of {len(sources)} axes to {len(places)} places")
    order = [i for i in range(x.ndim) if i not in sources]
    for place, axis in sorted(zip(places, sources)):
        order.insert(place, axis)
    return _core.transpose(x, order)


def permute_dims(x, /, axes):
    """The axes in another order."""
    return _core.transpose(x, axes)


def repeat(x, repeats, /, *, axis=None):
    """Each element of an axis, or of all in order, several times: as often as a number or, of one for each, a tensor says.

    Waits for a tensor of numbers, as they decide the shape.
    """
    if not isinstance(repeats, _core.Tensor):
        return _functions.repeat(x, repeats, axis)
    if axis is None:
        x, axis = x.reshape(-1), 0
    import numpy

    places = numpy.repeat(numpy.arange(x.shape[axis]), repeats.numpy())
    return _core.take(x, _core.array(places, "int64", x.device), axis)


def reshape(x, /, shape, *, copy=None):
    """The elements in the same order in another shape, of which one extent may be -1; shares the values unless copy is True."""
    y = _core.reshape(x, shape)
    return y.clone() if copy else y


def roll(x, /, shift, *, axis=None):
    """The elements of an axis, of several or of all in order, shifted in a circle."""
    return _functions.roll(x, shift, axis)


def squeeze(x, /, axis):
    """x without axes of one element."""
    axes = axes_of(axis, x.ndim)
    if any(x.shape[one] != 1 for one in axes):
        raise ValueError(f"squeeze of axes {axis} of {x.shape}: they have one element")
    return _core.reshape(x, tuple(n for i, n in enumerate(x.shape) if i not in axes))


def stack(arrays, /, *, axis=0):
    """The tensors side by side along a new axis."""
    return _core.stack(list(arrays), axis)


def tile(x, repetitions, /):
    """The whole tensor several times along each axis."""
    return _core.tile(x, repetitions)


def unstack(x, /, *, axis=0):
    """The elements of an axis, as a tuple of tensors without it."""
    before = (slice(None),) * axis_of(axis, x.ndim)
    return tuple(x[before + (i,)] for i in range(x.shape[axis]))
