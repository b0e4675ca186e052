"""MXNet's ndarray: a tensor whose operations are recorded only within autograd.record()."""
import math
import re

import numpy

import asyncgrad as ag
from asyncgrad import extend

from . import autograd
from .context import Context, device_of, of_device, pinned

Tensor = ag.Tensor
_TYPES = {name for name, value in vars(ag).items() if isinstance(value, ag.DType)}
_CODES = "fiub"
_NARROW_INTEGERS = ("bool", "uint8", "int8", "int16", "int32", "uint16", "uint32", "uint64")


def dtype_of(dtype, default="float32"):
    """The name of the type here for one of MXNet's; a wider one stands for what is missing."""
    if dtype is None:
        return default
    if isinstance(dtype, type):
        dtype = getattr(dtype, "__name__", dtype)
    name = str(getattr(dtype, "name", dtype))
    if name[:1] in _CODES and name[1:].isdigit():
        name = numpy.dtype(name).name  # "f4"
    name = {"bool_": "bool", "int": "int64", "float": "float64", "double": "float64"}.get(name, name)
    if name in _TYPES:
        return name
    if name in _NARROW_INTEGERS:
        return "int64"
    if name == "float16":
        return "float32"
    raise TypeError(f"there are no arrays of {dtype}")


# Arguments that choose how MXNet computes, not what.
_WITHOUT_EFFECT = ("name", "order", "subok", "casting", "workspace", "cudnn_tune", "cudnn_off", "sparse_grad")


def check_no_others(function, others):
    """Raises for an argument that is missing here, unless its value switches it off."""
    for name, value in others.items():
        if value is not None and value is not False and name not in _WITHOUT_EFFECT:
            raise NotImplementedError(f"{function}({name}={value!r})")


def check_order(function, order):
    """Raises unless elements are taken row by row."""
    if order != "C":
        raise NotImplementedError(f"{function}(order={order!r})")


def alike(sequence, parts):
    """The parts as a list or a tuple of the class of another one, which may be a named tuple."""
    return type(sequence)(*parts) if hasattr(sequence, "_fields") else type(sequence)(parts)


def axis_of(axis, ndim):
    """The number of an axis, counted from the first one; raises for an axis that does not exist."""
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis {axis} is out of bounds for an array with {ndim} axes")
    return axis % ndim


def rows_of(x):
    """A row for each element of the first axis, which shares the values: (N, A, B) -> (N, A B)."""
    return ag.reshape(x, (x.shape[0], math.prod(x.shape[1:])))


def given(result, out=None, dtype=None):
    """A result in a type, or written into an array."""
    if dtype is not None:
        result = result.astype(dtype, copy=False)
    if out is None:
        return result
    out[...] = result
    return out


def owned(result):
    """An array that may share another's values, with values of its own, as MXNet gives it.

    Within record() it goes on sharing them: in MXNet nothing may be written there.
    """
    return result if autograd.is_recording() else result.copy()


def computed(values, like):
    """Values that NumPy gives, as an array of another one's type, or of float32 for integers, on its device."""
    return wrapped(ag.array(values, str(like.dtype) if like.dtype.is_floating else "float32", like.device))


def number_beside(like, number):
    """A number as an array of another one's type, on its device."""
    return wrapped(ag.full((), number, dtype=like.dtype, device=like.device))


def indices_inside(indices, extent, mode):
    """The indices of an axis, of which those outside are the nearest one inside, or go round with mode="wrap"."""
    return ag.clip(indices, 0, extent - 1) if mode == "clip" else indices % extent


def remainder(x1, x2):
    """What x1 // x2 leaves, with the sign of x2; 0 where x2 is 0, as in MXNet."""
    y = ag.remainder(x1, x2)
    is_zero = ag.equal(x2, 0) if isinstance(x2, Tensor) else x2 == 0
    if is_zero is False or not y.dtype.is_floating:
        return y
    value = ag.where(is_zero, 0.0, y.detach())
    if not (autograd.is_recording() and y.requires_grad):
        return value
    return wrapped(ag.with_gradient("mod", value, [y], lambda dy: dy))


def wrapped(tensor):
    """A tensor as an ndarray."""
    return tensor if isinstance(tensor, ndarray) else extend.as_class(tensor, ndarray)


class ndarray(Tensor):
    """An array of values that are computed meanwhile; asnumpy(), item() and wait_to_read() wait for them."""

    __slots__ = ()

    @property
    def ctx(self):
        """The device, as a Context."""
        return of_device(self.device)

    context = ctx
    stype = "default"  # there are no sparse arrays

    @property
    def grad(self):
        """The gradient that the last backward() gave, zeros before the first, or None without attach_grad()."""
        return autograd.grad_of(self)

    def zero_grad(self):
        """Lets the gradient be zeros."""
        autograd.drop_gradient(self)

    def attach_grad(self, grad_req="write", gradient=None):
        """Makes it a variable: backward() replaces its gradient, or adds to it with "add", in .grad; integers raise.

        A result of recorded operations loses its history: backward() ends here.
        """
        if not self.is_leaf:
            self.detach_()
        autograd.attach(self, grad_req, gradient)
        self.requires_grad_(grad_req != "null")

    def backward(self, out_grad=None, retain_graph=False, train_mode=True):
        """Computes the gradients of the sum of its elements, weighted by out_grad."""
        autograd.backward([self], [out_grad], retain_graph)

    def wait_to_read(self):
        """Waits until the values are computed."""
        self.wait()

    wait_to_write = wait_to_read

    def asnumpy(self):
        """A copy of the values as an array of NumPy. Waits for them."""
        return self.numpy().copy()

    def asscalar(self):
        """The only element as a number. Waits for it."""
        return self.item()

    def item(self, *args):
        """The only element, or the one at an index, as a number. Waits for it."""
        if args:
            return self.asnumpy().item(*args)
        return Tensor.item(self)

    def copyto(self, other):
        """A copy on a device, or the values written into another array."""
        if isinstance(other, Context):
            if other.is_pinned:
                copied = pinned(self)
                return pinned(self.copy()) if copied is self else copied
            return self.copy() if device_of(other) == self.device else self.to(other)
        other[...] = self.to(other.device)
        return other

    def as_in_ctx(self, ctx):
        """The array on a device: itself if it is there."""
        if isinstance(ctx, Context) and ctx.is_pinned:
            return pinned(self)
        return self if device_of(ctx) == self.device else self.to(ctx)

    as_in_context = as_in_ctx

    def as_np_ndarray(self):
        """The array itself."""
        return self

    as_nd_ndarray = as_np_ndarray

    def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
        """The array in another type; with copy=False itself if it has that type."""
        dtype = dtype_of(dtype)
        if dtype == "uint8" and self.dtype not in ("uint8", "bool"):
            return Tensor.astype(Tensor.astype(self, "int64") % 256, dtype)  # keeps the lowest bits, as C does
        return Tensor.astype(self, dtype, copy)

    def sum(self, axis=None, dtype=None, out=None, keepdims=False):
        """The sum of all elements, or over axes. Integers keep their type."""
        if dtype is None and not self.dtype.is_floating and self.dtype != "bool":
            dtype = self.dtype  # as MXNet: a sum of int32 is int32
        x = self if dtype is None else self.astype(dtype, copy=False)
        return given(Tensor.sum(x, axis, keepdims), out, dtype)

    def mean(self, axis=None, dtype=None, out=None, keepdims=False):
        """The mean of all elements, or over axes; float32 for integers."""
        dtype = dtype_of(dtype, str(self.dtype) if self.dtype.is_floating else "float32")
        x = self.astype(dtype if dtype.startswith("float") else "float32", copy=False)
        return given(Tensor.mean(x, axis, keepdims), out, dtype)

    def std(self, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
        """The square root of var(), whose gradient is 0 where all elements are equal. Integers keep their type."""
        if dtype is None and not self.dtype.is_floating:
            dtype = self.dtype
        return given(Tensor.std(self, axis, ddof, keepdims), out, dtype)

    def var(self, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
        """The sum of (x - mean)^2 divided by n - ddof, of all elements or over axes. Integers keep their type."""
        if dtype is None and not self.dtype.is_floating:
            dtype = self.dtype
        return given(Tensor.var(self, axis, ddof, keepdims), out, dtype)

    def max(self, axis=None, out=None, keepdims=False):
        """The largest element of all, or over axes."""
        return given(self._extremum(Tensor.max, axis, keepdims), out)

    def min(self, axis=None, out=None, keepdims=False):
        """The smallest element of all, or over axes."""
        return given(self._extremum(Tensor.min, axis, keepdims), out)

    def argmax(self, axis=None, out=None, keepdims=False):
        """The index of the first largest element of all, or along an axis, in int64."""
        return given(Tensor.argmax(self, axis, keepdims), out)

    def argmin(self, axis=None, out=None, keepdims=False):
        """The index of the first smallest element of all, or along an axis, in int64."""
        return given(Tensor.argmin(self, axis, keepdims), out)

    def all(self, axis=None, out=None, keepdims=False):
        """Whether no element of all, or over axes, is 0, as bool."""
        return given(Tensor.all(self, axis, keepdims), out)

    def any(self, axis=None, out=None, keepdims=False):
        """Whether not all elements, or over axes, are 0, as bool."""
        return given(Tensor.any(self, axis, keepdims), out)

    def clip(self, min=None, max=None, out=None):
        """Each element, or the bound that it is beyond; None is no bound."""
        return given(Tensor.clip(self, min, max), out)

    def copy(self, order="C"):
        """An array with values of its own."""
        check_order("ndarray.copy", order)
        return Tensor.copy(self)

    def _extremum(self, function, axis, keepdims):
        """As in MXNet, each of several equal elements gets the whole gradient."""
        if not (autograd.is_recording() and self.requires_grad):
            return function(self, axis, keepdims)
        x = self.detach()
        y = function(x, axis, True)
        largest = x == y
        shape = y.shape
        value = y if keepdims else y.squeeze(axis)
        return wrapped(ag.with_gradient("max", value, [self], lambda dy: dy.reshape(shape) * largest))

    def reshape(self, *shape, order="C"):
        """The elements in the same order in another shape; one extent may be -1."""
        check_order("ndarray.reshape", order)
        return owned(Tensor.reshape(self, *shape))

    def flatten(self, order="C"):
        """All elements in order along one axis."""
        check_order("ndarray.flatten", order)
        return owned(Tensor.reshape(self, -1))

    ravel = flatten

    def squeeze(self, axis=None):
        """Without the axes of extent 1, or without the given ones."""
        return owned(Tensor.squeeze(self, axis))

    def expand_dims(self, axis):
        """With one more axis of extent 1."""
        return owned(Tensor.expand_dims(self, axis))

    def split(self, indices_or_sections, axis=0):
        """The parts of an axis: as many equal ones, or those that begin at the given places."""
        return [owned(part) for part in Tensor.split(self, indices_or_sections, axis)]

    def reshape_like(self, other):
        """The elements in the same order in the shape of another array."""
        return owned(Tensor.reshape(self, other.shape))

    def repeat(self, repeats, axis=None):
        """Each element of an axis, or of all in order, several times."""
        return wrapped(ag.repeat(self, repeats, axis))

    def tile(self, reps):
        """The whole array several times along each axis."""
        return ag.tile(self, reps)

    def slice_axis(self, axis, begin, end):
        """The elements of an axis from `begin` up to, but without, `end`."""
        return self[(slice(None),) * axis_of(axis, self.ndim) + (slice(begin, end),)]

    def __truediv__(self, other):
        # The quotient of integers, and of integers and a number, is float32.
        if not self.dtype.is_floating and not (isinstance(other, Tensor) and other.dtype.is_floating):
            return Tensor.astype(self, "float32") / other
        return Tensor.__truediv__(self, other)

    def __rtruediv__(self, other):
        if not self.dtype.is_floating:
            return other / Tensor.astype(self, "float32")
        return Tensor.__rtruediv__(self, other)

    def __mod__(self, other):
        return remainder(self, other)

    def __rmod__(self, other):
        return remainder(other, self)

    def __imod__(self, other):
        self[...] = remainder(self, other)
        return self

    def __ipow__(self, other):
        return self ** other  # as in MXNet a new array

    def __repr__(self):
        # As in MXNet it is NumPy's text, which names no type of int64 and float64, but one of float32.
        text = repr(self.numpy())
        if self.dtype == "float32":
            text = re.sub(r",\s+dtype=float32\)$", ")", text)
        elif "dtype=" not in text and self.dtype != "bool":
            text = f"{text[:-1]}, dtype={self.dtype})"
        return text if self.device == "cpu" else f"{text[:-1]}, ctx={self.ctx})"

    def __str__(self):
        text = str(self.numpy())
        return text if self.device == "cpu" or self.ndim == 0 else f"{text} @{self.ctx}"

    def __format__(self, spec):
        if self.ndim == 0 or (spec and self.size == 1):
            return format(self.item(), spec)
        if spec:
            raise TypeError(f"an array of the shape {self.shape} has no format {spec!r}: only one with a single element has")
        return str(self)

    def __copy__(self):
        return self.detach().copy()  # values of its own, without attach_grad(), as in MXNet

    def __deepcopy__(self, memo):
        memo[id(self)] = copied = self.__copy__()
        return copied

    def __reduce__(self):
        return _restored, (self.numpy(), str(self.dtype))

    def __reduce_ex__(self, protocol):
        return self.__reduce__()


def _restored(values, dtype):
    return wrapped(ag.array(values, dtype))


extend.register(ndarray, keeps_types=True, records_on_request=True, takes_floating_indices=True)
