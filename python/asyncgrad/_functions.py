"""Functions that are composed of other functions."""

import math
import operator

from . import _core


def _count(name, given):
    try:
        count = operator.index(given)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {given!r}") from None
    if count < 0:
        raise ValueError(f"{name} must be at least 0, got {count}")
    return count


def axis_of(axis, ndim):
    """The number of an axis, counted from the first one; raises for an axis that does not exist."""
    if not -ndim <= axis < ndim:
        raise IndexError(f"axis {axis} is out of bounds for a tensor with {ndim} axes")
    return axis % ndim


def as_tensor(x):
    """x, or the tensor of its values if it is none."""
    return x if isinstance(x, _core.Tensor) else _core.asarray(x)


def empty(*shape, dtype=None, device=None):
    """Zeros, as there are no tensors without values: empty(2, 3) or empty((2, 3))."""
    return _core.zeros(*shape, dtype=dtype, device=device)


def eye(n, m=None, k=0, dtype=None, device=None):
    """1 on a diagonal of a matrix (n, m), 0 elsewhere; k > 0 is a diagonal above the main one."""
    return _core._eye(n, n if m is None else m, k, dtype, device)


def linspace(start, stop, num=50, endpoint=True, dtype=None, device=None):
    """`num` numbers from start to stop, evenly spaced."""
    num = _count("num", num)
    return _core._linspace(start, stop, num if endpoint else num + 1, dtype, device)[:num]


def meshgrid(*axes, indexing="xy"):
    """The coordinates of a grid, as numpy.meshgrid: of (M) and (N) two tensors (N, M), or (M, N) with "ij"."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing is 'xy' or 'ij', not {indexing!r}")
    axes = [as_tensor(x) for x in axes]
    count = len(axes)
    order = list(range(count))
    if indexing == "xy" and count > 1:
        order[0], order[1] = 1, 0
    shape = [0] * count
    for x, place in zip(axes, order):
        shape[place] = x.size
    result = []
    for x, place in zip(axes, order):
        extents = [1] * count
        extents[place] = x.size
        result.append(x.reshape(*extents).broadcast_to(tuple(shape)))
    return result


def repeat(x, repeats, axis=None):
    """Each element of an axis, repeated: (A, B) along axis 0 -> (A repeats, B)."""
    x, repeats = as_tensor(x), _count("repeats", repeats)
    reshape = _core.Tensor.reshape  # that of a derived class may copy
    if axis is None:
        x, axis = reshape(x, -1), 0
    shape, axis = list(x.shape), axis_of(axis, x.ndim)
    outer, inner = math.prod(shape[: axis + 1]), math.prod(shape[axis + 1 :])
    shape[axis] *= repeats
    return reshape(reshape(x, outer, 1, inner).broadcast_to((outer, repeats, inner)), *shape)


def roll(x, shift, axis=None):
    """The elements of an axis, of several or of all in order, shifted in a circle: by one number, or by one for each axis."""
    x = as_tensor(x)
    if axis is None:
        return roll(x.reshape(-1), shift, 0).reshape(*x.shape)
    if isinstance(axis, (tuple, list)):
        for one, by in zip(axis, shift if isinstance(shift, (tuple, list)) else [shift] * len(axis), strict=True):
            x = roll(x, by, one)
        return x
    if isinstance(shift, (tuple, list)):
        shift = sum(shift)
    n = x.shape[axis_of(axis, x.ndim)]
    if n == 0:
        return x
    places = (_core.arange(n, device=x.device) - shift % n + n) % n
    return _core.take(x, places, axis)


def root_of_variance(variance):
    """The standard deviation. Where it is 0 all elements are equal, and its gradient is 0, though that of a root is infinite."""
    if not variance.requires_grad:
        return variance.sqrt()
    is_zero = variance == 0
    return _core.where(is_zero, variance, _core.where(is_zero, 1, variance).sqrt())


def outer(x, y):
    """The products of all elements of x with all of y: (x.size, y.size)."""
    return as_tensor(x).reshape(-1, 1) * as_tensor(y).reshape(1, -1)


def _operands(x, y):
    """Both, of which at least one is a tensor: the operators of lists mean something else."""
    return (x if isinstance(x, _core.Tensor) or isinstance(y, _core.Tensor) else as_tensor(x)), y


def add(x, y):
    """x + y"""
    x, y = _operands(x, y)
    return x + y


def subtract(x, y):
    """x - y"""
    x, y = _operands(x, y)
    return x - y


def multiply(x, y):
    """x * y"""
    x, y = _operands(x, y)
    return x * y


def divide(x, y):
    """x / y"""
    x, y = _operands(x, y)
    return x / y


def negative(x):
    """-x"""
    return -as_tensor(x)


def array_equal(x, y):
    """Whether shapes and values are equal. Waits for them."""
    import numpy

    return numpy.array_equal(numpy.asarray(x), numpy.asarray(y))


def allclose(x, y, rtol=1e-5, atol=1e-8):
    """Whether values are close, as numpy.allclose. Waits for them."""
    import numpy

    return numpy.allclose(numpy.asarray(x), numpy.asarray(y), rtol=rtol, atol=atol)
