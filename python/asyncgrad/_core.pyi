from asyncgrad._tensor import (
    _array as __array__,
    _copy as __copy__,
    _deepcopy as __deepcopy__,
    _reduce as __reduce__,
    _reduce_ex as __reduce_ex__,
    _repr as __repr__,
    _str as __str__,
    dot as dot,
    flatten as flatten,
    flatten as ravel,
    mm as mm,
    numpy as numpy,
    std as std,
    tolist as tolist,
    view as view
)


def _set_error_functions(arg0: object, arg1: object, /) -> None: ...

_dtypes: list = ...

def _set_dtypes(arg: list, /) -> None: ...

class Tensor:
    """
    An array of values that are computed meanwhile: made by array(), zeros(), randn() and every operation. Shape, type and device are known at once, the values later: item(), numpy(), print() and wait() wait for them.
    """

    def __hash__(self, /):
        """Return hash(self)."""

    def __lt__(self, value, /):
        """Return self<value."""

    def __le__(self, value, /):
        """Return self<=value."""

    def __eq__(self, value, /):
        """Return self==value."""

    def __ne__(self, value, /):
        """Return self!=value."""

    def __gt__(self, value, /):
        """Return self>value."""

    def __ge__(self, value, /):
        """Return self>=value."""

    def __add__(self, value, /):
        """Return self+value."""

    def __radd__(self, value, /):
        """Return value+self."""

    def __sub__(self, value, /):
        """Return self-value."""

    def __rsub__(self, value, /):
        """Return value-self."""

    def __mul__(self, value, /):
        """Return self*value."""

    def __rmul__(self, value, /):
        """Return value*self."""

    def __mod__(self, value, /):
        """Return self%value."""

    def __rmod__(self, value, /):
        """Return value%self."""

    def __pow__(self, value, mod=None, /):
        """Return pow(self, value, mod)."""

    def __rpow__(self, value, mod=None, /):
        """Return pow(value, self, mod)."""

    def __neg__(self, /):
        """-self"""

    def __pos__(self, /):
        """+self"""

    def __abs__(self, /):
        """abs(self)"""

    def __bool__(self, /):
        """True if self else False"""

    def __invert__(self, /):
        """~self"""

    def __and__(self, value, /):
        """Return self&value."""

    def __rand__(self, value, /):
        """Return value&self."""

    def __xor__(self, value, /):
        """Return self^value."""

    def __rxor__(self, value, /):
        """Return value^self."""

    def __or__(self, value, /):
        """Return self|value."""

    def __ror__(self, value, /):
        """Return value|self."""

    def __int__(self, /):
        """int(self)"""

    def __float__(self, /):
        """float(self)"""

    def __iadd__(self, value, /):
        """Return self+=value."""

    def __isub__(self, value, /):
        """Return self-=value."""

    def __imul__(self, value, /):
        """Return self*=value."""

    def __iand__(self, value, /):
        """Return self&=value."""

    def __ixor__(self, value, /):
        """Return self^=value."""

    def __ior__(self, value, /):
        """Return self|=value."""

    def __floordiv__(self, value, /):
        """Return self//value."""

    def __rfloordiv__(self, value, /):
        """Return value//self."""

    def __truediv__(self, value, /):
        """Return self/value."""

    def __rtruediv__(self, value, /):
        """Return value/self."""

    def __itruediv__(self, value, /):
        """Return self/=value."""

    def __index__(self, /):
        """
        Return self converted to an integer, if self is suitable for use as an index into a list.
        """

    def __matmul__(self, value, /):
        """Return self@value."""

    def __rmatmul__(self, value, /):
        """Return value@self."""

    def __len__(self, /):
        """Return len(self)."""

    def __getitem__(self, key, /):
        """Return self[key]."""

    def __setitem__(self, key, value, /):
        """Set self[key] to value."""

    def __delitem__(self, key, /):
        """Delete self[key]."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents, as a tuple."""

    @property
    def dtype(self) -> object:
        """The element type."""

    @property
    def device(self) -> str:
        """Where it lives: "cpu", "cpu:1", ..."""

    @property
    def ndim(self) -> int:
        """The number of axes."""

    @property
    def size(self) -> int:
        """The number of elements."""

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""

    @property
    def requires_grad(self) -> bool:
        """
        Whether backward() computes a gradient for it, or for what it was computed from.
        """

    @requires_grad.setter
    def requires_grad(self, arg: bool, /) -> None: ...

    def requires_grad_(self, wanted: bool = True) -> Tensor:
        """
        Says whether the gradient of this leaf is wanted, and returns the tensor.
        """

    @property
    def is_leaf(self) -> bool:
        """
        Whether no recorded operation made it. backward() keeps the gradients of leaves in grad.
        """

    @property
    def grad(self) -> Tensor | None:
        """The gradient so far, or None; assign None to drop it."""

    @grad.setter
    def grad(self, value: object | None) -> None: ...

    def zero_grad(self) -> None:
        """Drops the gradient."""

    def backward(self, gradient: object | None = None, retain_graph: bool = False) -> None:
        """
        Queues the computation of the gradients of every leaf that this was computed from, and adds them to their grad. `gradient` is the gradient of this tensor and has its shape; a single element needs none.
        """

    def detach(self) -> Tensor:
        """A tensor that shares the values and has no history."""

    def _drop_history(self) -> None:
        """Lets this tensor be a leaf, without what it was computed from."""

    def wait(self) -> Tensor:
        """Waits until the values are computed, and returns the tensor."""

    def item(self) -> object:
        """The only element as a number of Python. Waits for it."""

    def _address(self) -> int: ...

    __array_priority__: int = 1000

    __array_ufunc__: None = None

    def relu(self) -> Tensor:
        """max(x, 0)"""

    def sigmoid(self) -> Tensor:
        """1 / (1 + e^-x)"""

    def tanh(self) -> Tensor:
        """The hyperbolic tangent."""

    def exp(self) -> Tensor:
        """e^x"""

    def log(self) -> Tensor:
        """The natural logarithm."""

    def square(self) -> Tensor:
        """x^2"""

    def sqrt(self) -> Tensor:
        """The square root."""

    def abs(self) -> Tensor:
        """The absolute value."""

    def rsqrt(self) -> Tensor:
        """1 / sqrt(x)"""

    def sin(self) -> Tensor:
        """The sine of x in radians."""

    def cos(self) -> Tensor:
        """The cosine of x in radians."""

    def erf(self) -> Tensor:
        """The error function."""

    def log1p(self) -> Tensor:
        """log(1 + x), accurate near 0."""

    def expm1(self) -> Tensor:
        """e^x - 1, accurate near 0."""

    def silu(self) -> Tensor:
        """x sigmoid(x)"""

    def softplus(self) -> Tensor:
        """log(1 + e^x)"""

    def gelu(self) -> Tensor:
        """x (1 + erf(x / sqrt(2))) / 2"""

    def gelu_tanh(self) -> Tensor:
        """The approximation of gelu by tanh."""

    def floor(self) -> Tensor:
        """The largest integer that is at most x. No gradient."""

    def isnan(self) -> Tensor:
        """Whether it is NaN, as bool."""

    def isfinite(self) -> Tensor:
        """Whether it is neither infinite nor NaN, as bool."""

    def logical_not(self) -> Tensor:
        """Whether it is 0, as bool."""

    def round(self) -> Tensor:
        """The nearest integer, halves to the even one. No gradient."""

    def sign(self) -> Tensor:
        """-1, 0 or 1. No gradient."""

    def maximum(self, y: object) -> Tensor:
        """The larger one of x and y, broadcast against each other."""

    def minimum(self, y: object) -> Tensor:
        """The smaller one of x and y, broadcast against each other."""

    def pow(self, y: object) -> Tensor:
        """x^y"""

    def equal(self, y: object) -> Tensor:
        """Whether x = y, as bool."""

    def not_equal(self, y: object) -> Tensor:
        """Whether x and y differ, as bool."""

    def less(self, y: object) -> Tensor:
        """Whether x < y, as bool."""

    def less_equal(self, y: object) -> Tensor:
        """Whether x <= y, as bool."""

    def greater(self, y: object) -> Tensor:
        """Whether x > y, as bool."""

    def greater_equal(self, y: object) -> Tensor:
        """Whether x >= y, as bool."""

    def logical_and(self, y: object) -> Tensor:
        """Whether neither is 0, as bool."""

    def logical_or(self, y: object) -> Tensor:
        """Whether not both are 0, as bool."""

    def logical_xor(self, y: object) -> Tensor:
        """Whether one of them is 0, as bool."""

    def sum(self, axis: object | None = None, keepdims: bool = False) -> Tensor:
        """
        The sum over all elements, or over axes, which are dropped or kept with extent 1.
        """

    def mean(self, axis: object | None = None, keepdims: bool = False) -> Tensor:
        """
        The mean over all elements, or over axes, which are dropped or kept with extent 1.
        """

    def max(self, axis: object | None = None, keepdims: bool = False) -> Tensor:
        """The largest element of all, or over axes; NaN if there is one."""

    def min(self, axis: object | None = None, keepdims: bool = False) -> Tensor:
        """The smallest element of all, or over axes; NaN if there is one."""

    def any(self, axis: object | None = None, keepdims: bool = False) -> Tensor:
        """Whether an element of all, or over axes, is not 0, as bool."""

    def all(self, axis: object | None = None, keepdims: bool = False) -> Tensor:
        """Whether no element of all, or over axes, is 0, as bool."""

    def norm(self, axis: object | None = None, keepdims: bool = False) -> Tensor:
        """sqrt(sum(x^2)) over all elements, or over axes."""

    def logsumexp(self, axis: object | None = None, keepdims: bool = False) -> Tensor:
        """log(sum(e^x)) over all elements, or over axes."""

    def var(self, axis: object | None = None, ddof: float = 0.0, keepdims: bool = False) -> Tensor:
        """
        The sum of (x - mean)^2 divided by n - ddof, over all n elements or those of axes.
        """

    def argmax(self, axis: object | None = None, keepdims: bool = False) -> Tensor:
        """The index of the first largest element, in int64."""

    def argmin(self, axis: object | None = None, keepdims: bool = False) -> Tensor:
        """The index of the first smallest element, in int64."""

    def cumsum(self, axis: object | None = None) -> Tensor:
        """
        The sums of the elements up to each, along an axis or, with None, of all in order; int64 for narrower integers.
        """

    def softmax(self, axis: int = -1) -> Tensor:
        """e^x / sum(e^x) along an axis."""

    def log_softmax(self, axis: int = -1) -> Tensor:
        """The logarithm of softmax(), accurate where that is near 0."""

    def reshape(self, *args) -> Tensor:
        """
        The elements in the same order: reshape(2, -1) or reshape((2, -1)). Shares the values.
        """

    def transpose(self, *args) -> Tensor:
        """
        A copy with the axes in another order: transpose(), transpose(1, 0) or transpose((1, 0)).
        """

    def permute(self, *args) -> Tensor:
        """The same as transpose(): a copy with the axes in another order."""

    @property
    def T(self) -> Tensor:
        """A copy with all axes in the opposite order."""

    def swapaxes(self, axis1: int, axis2: int) -> Tensor:
        """A copy with two axes exchanged."""

    def squeeze(self, axis: object | None = None) -> Tensor:
        """
        Without the axes of extent 1, or without the given ones. Shares the values.
        """

    def expand_dims(self, axis: int) -> Tensor:
        """With one more axis of extent 1. Shares the values."""

    def unsqueeze(self, axis: int) -> Tensor:
        """With one more axis of extent 1. Shares the values."""

    def flip(self, axis: object | None = None) -> Tensor:
        """The elements of the axes in the opposite order."""

    def broadcast_to(self, shape: object) -> Tensor:
        """x repeated to a shape, as broadcasting does."""

    def tile(self, reps: object) -> Tensor:
        """x repeated as a whole along each axis."""

    def split(self, parts: object, axis: int = 0) -> list[Tensor]:
        """
        The parts of x along an axis: as many equal ones, or those that begin at the given places.
        """

    def take(self, indices: object, axis: int = 0) -> Tensor:
        """
        The elements of an axis at the indices, which have any shape and are not negative.
        """

    def take_along_axis(self, indices: object, axis: int) -> Tensor:
        """For each index the element of the axis beside it."""

    def gather(self, indices: object, axis: int) -> Tensor:
        """For each index the element of the axis beside it."""

    def scatter_add(self, indices: object, source: object, axis: int) -> Tensor:
        """x with `source` added at the indices."""

    def one_hot(self, classes: int, dtype: object | None = None) -> Tensor:
        """1 at the index, else 0: (...) -> (..., classes)."""

    def masked_fill(self, mask: object, value: object) -> Tensor:
        """A number where the mask is not 0, else x."""

    def tril(self, k: int = 0) -> Tensor:
        """A triangle of the matrices x, 0 elsewhere."""

    def triu(self, k: int = 0) -> Tensor:
        """A triangle of the matrices x, 0 elsewhere."""

    def clip(self, min: object | None = None, max: object | None = None) -> Tensor:
        """x, or the bound that it is beyond."""

    def matmul(self, w: object, transpose_x: bool = False, transpose_w: bool = False) -> Tensor:
        """
        The matrix product (..., N, I) (..., I, O) -> (..., N, O); operands may be read transposed without a copy.
        """

    def retain_grad(self) -> None:
        """
        Lets backward() keep the gradient of this tensor in grad, also if an operation made it.
        """

    def clone(self) -> Tensor:
        """A copy with its own values."""

    def copy(self) -> Tensor:
        """A copy with its own values."""

    def astype(self, dtype: object, copy: bool = True) -> Tensor:
        """
        A copy in another type; with copy=False the tensor itself if it has that type.
        """

    def to(self, target: object, non_blocking: bool = True, copy: bool = False) -> Tensor:
        """
        A copy in another type or on another device, or with copy=False the tensor itself if that is what it is. Differentiable; never blocks.
        """

    def copy_(self, source: object) -> Tensor:
        """Writes the source's values here, and returns this tensor."""

    def fill_(self, value: object) -> Tensor:
        """Writes a number everywhere, and returns this tensor."""

    def __dlpack__(self, **kwargs) -> object:
        """
        Shares the memory with another library, or gives it a copy with copy=True. Waits for the values.
        """

    def __dlpack_device__(self) -> tuple: ...

def _set_recorded_type(arg: object, /) -> None: ...

def _record(arg: bool, /) -> bool: ...

def _as_type(arg0: object, arg1: object, /) -> object:
    """The same tensor as an object of another class."""

def relu(x: object) -> Tensor:
    """max(x, 0)"""

def sigmoid(x: object) -> Tensor:
    """1 / (1 + e^-x)"""

def tanh(x: object) -> Tensor:
    """The hyperbolic tangent."""

def exp(x: object) -> Tensor:
    """e^x"""

def log(x: object) -> Tensor:
    """The natural logarithm."""

def square(x: object) -> Tensor:
    """x^2"""

def sqrt(x: object) -> Tensor:
    """The square root."""

def abs(x: object) -> Tensor:
    """The absolute value."""

def rsqrt(x: object) -> Tensor:
    """1 / sqrt(x)"""

def sin(x: object) -> Tensor:
    """The sine of x in radians."""

def cos(x: object) -> Tensor:
    """The cosine of x in radians."""

def erf(x: object) -> Tensor:
    """The error function."""

def log1p(x: object) -> Tensor:
    """log(1 + x), accurate near 0."""

def expm1(x: object) -> Tensor:
    """e^x - 1, accurate near 0."""

def silu(x: object) -> Tensor:
    """x sigmoid(x)"""

def softplus(x: object) -> Tensor:
    """log(1 + e^x)"""

def gelu(x: object) -> Tensor:
    """x (1 + erf(x / sqrt(2))) / 2"""

def gelu_tanh(x: object) -> Tensor:
    """The approximation of gelu by tanh."""

def floor(x: object) -> Tensor:
    """The largest integer that is at most x. No gradient."""

def isnan(x: object) -> Tensor:
    """Whether it is NaN, as bool."""

def isfinite(x: object) -> Tensor:
    """Whether it is neither infinite nor NaN, as bool."""

def logical_not(x: object) -> Tensor:
    """Whether it is 0, as bool."""

def round(x: object) -> Tensor:
    """The nearest integer, halves to the even one. No gradient."""

def sign(x: object) -> Tensor:
    """-1, 0 or 1. No gradient."""

def maximum(x: object, y: object) -> Tensor:
    """The larger one of x and y, broadcast against each other."""

def minimum(x: object, y: object) -> Tensor:
    """The smaller one of x and y, broadcast against each other."""

def pow(x: object, y: object) -> Tensor:
    """x^y"""

def equal(x: object, y: object) -> Tensor:
    """Whether x = y, as bool."""

def not_equal(x: object, y: object) -> Tensor:
    """Whether x and y differ, as bool."""

def less(x: object, y: object) -> Tensor:
    """Whether x < y, as bool."""

def less_equal(x: object, y: object) -> Tensor:
    """Whether x <= y, as bool."""

def greater(x: object, y: object) -> Tensor:
    """Whether x > y, as bool."""

def greater_equal(x: object, y: object) -> Tensor:
    """Whether x >= y, as bool."""

def logical_and(x: object, y: object) -> Tensor:
    """Whether neither is 0, as bool."""

def logical_or(x: object, y: object) -> Tensor:
    """Whether not both are 0, as bool."""

def logical_xor(x: object, y: object) -> Tensor:
    """Whether one of them is 0, as bool."""

def sum(x: object, axis: object | None = None, keepdims: bool = False) -> Tensor:
    """
    The sum over all elements, or over axes, which are dropped or kept with extent 1.
    """

def mean(x: object, axis: object | None = None, keepdims: bool = False) -> Tensor:
    """
    The mean over all elements, or over axes, which are dropped or kept with extent 1.
    """

def max(x: object, axis: object | None = None, keepdims: bool = False) -> Tensor:
    """The largest element of all, or over axes; NaN if there is one."""

def min(x: object, axis: object | None = None, keepdims: bool = False) -> Tensor:
    """The smallest element of all, or over axes; NaN if there is one."""

def any(x: object, axis: object | None = None, keepdims: bool = False) -> Tensor:
    """Whether an element of all, or over axes, is not 0, as bool."""

def all(x: object, axis: object | None = None, keepdims: bool = False) -> Tensor:
    """Whether no element of all, or over axes, is 0, as bool."""

def norm(x: object, axis: object | None = None, keepdims: bool = False) -> Tensor:
    """sqrt(sum(x^2)) over all elements, or over axes."""

def logsumexp(x: object, axis: object | None = None, keepdims: bool = False) -> Tensor:
    """log(sum(e^x)) over all elements, or over axes."""

def var(x: object, axis: object | None = None, ddof: float = 0.0, keepdims: bool = False) -> Tensor:
    """
    The sum of (x - mean)^2 divided by n - ddof, over all n elements or those of axes.
    """

def argmax(x: object, axis: object | None = None, keepdims: bool = False) -> Tensor:
    """The index of the first largest element, in int64."""

def argmin(x: object, axis: object | None = None, keepdims: bool = False) -> Tensor:
    """The index of the first smallest element, in int64."""

def cumsum(x: object, axis: object | None = None) -> Tensor:
    """
    The sums of the elements up to each, along an axis or, with None, of all in order; int64 for narrower integers.
    """

def softmax(x: object, axis: int = -1) -> Tensor:
    """e^x / sum(e^x) along an axis."""

def log_softmax(x: object, axis: int = -1) -> Tensor:
    """The logarithm of softmax(), accurate where that is near 0."""

def reshape(x: object, shape: object) -> Tensor:
    """
    The elements in the same order; one extent may be -1. Shares the values.
    """

def transpose(x: object, axes: object | None = None) -> Tensor:
    """A copy with the axes in another order; without `axes`, reversed."""

def swapaxes(x: object, axis1: int, axis2: int) -> Tensor:
    """A copy with two axes exchanged."""

def squeeze(x: object, axis: object | None = None) -> Tensor:
    """
    Without the axes of extent 1, or without the given ones. Shares the values.
    """

def expand_dims(x: object, axis: int) -> Tensor:
    """With one more axis of extent 1. Shares the values."""

def unsqueeze(x: object, axis: int) -> Tensor:
    """With one more axis of extent 1. Shares the values."""

def flip(x: object, axis: object | None = None) -> Tensor:
    """The elements of the axes in the opposite order."""

def broadcast_to(x: object, shape: object) -> Tensor:
    """x repeated to a shape, as broadcasting does."""

def tile(x: object, reps: object) -> Tensor:
    """x repeated as a whole along each axis."""

def pad(x: object, pad_width: object, constant_values: object = 0) -> Tensor:
    """
    x with a number around it: pad_width is a pair (before, after) for each axis.
    """

def concatenate(tensors: object, axis: int = 0) -> Tensor:
    """The tensors one after another along an axis."""

def concat(tensors: object, axis: int = 0) -> Tensor:
    """The tensors one after another along an axis."""

def stack(tensors: object, axis: int = 0) -> Tensor:
    """The tensors side by side along an axis of their own."""

def split(x: object, parts: object, axis: int = 0) -> list[Tensor]:
    """
    The parts of x along an axis: as many equal ones, or those that begin at the given places.
    """

def take(x: object, indices: object, axis: int = 0) -> Tensor:
    """
    The elements of an axis at the indices, which have any shape and are not negative.
    """

def take_along_axis(x: object, indices: object, axis: int) -> Tensor:
    """For each index the element of the axis beside it."""

def gather(x: object, indices: object, axis: int) -> Tensor:
    """For each index the element of the axis beside it."""

def scatter_add(x: object, indices: object, source: object, axis: int) -> Tensor:
    """x with `source` added at the indices."""

def one_hot(x: object, classes: int, dtype: object | None = None) -> Tensor:
    """1 at the index, else 0: (...) -> (..., classes)."""

def masked_fill(x: object, mask: object, value: object) -> Tensor:
    """A number where the mask is not 0, else x."""

def tril(x: object, k: int = 0) -> Tensor:
    """A triangle of the matrices x, 0 elsewhere."""

def triu(x: object, k: int = 0) -> Tensor:
    """A triangle of the matrices x, 0 elsewhere."""

def where(condition: object, x: object, y: object) -> Tensor:
    """x where the condition is not 0, else y."""

def clip(x: object, min: object | None = None, max: object | None = None) -> Tensor:
    """x, or the bound that it is beyond."""

def matmul(x: object, w: object, transpose_x: bool = False, transpose_w: bool = False) -> Tensor:
    """
    The matrix product (..., N, I) (..., I, O) -> (..., N, O); operands may be read transposed without a copy.
    """

def dense(x: object, weight: object, bias: object | None = None, activation: object | None = None) -> Tensor:
    """
    activation(x weight + bias): x (..., I), weight (I, O), bias (O) -> (..., O). The activation is None or "relu".
    """

def l2_loss(prediction: object, label: object) -> Tensor:
    """
    (prediction - label)^2 / 2, averaged over all axes but the first: (N, ...) -> (N).
    """

def squared_error(prediction: object, label: object) -> Tensor:
    """
    (prediction - label)^2, averaged over all axes but the first: (N, ...) -> (N).
    """

def softmax_cross_entropy(prediction: object, label: object) -> Tensor:
    """
    -log softmax(prediction)[label] of each row: prediction (N, C), label (N) int64 -> (N).
    """

def cross_entropy(prediction: object, label: object) -> Tensor:
    """
    -log softmax(prediction)[label] of each row: prediction (N, C), label (N) int64 -> (N).
    """

def half_squared_error(prediction: object, label: object) -> Tensor:
    """(prediction - label)^2 / 2 of each element."""

def reduce_add(tensors: object, device: object) -> Tensor:
    """The sum, on a device, of tensors that lie on any devices."""

def layer_norm(x: object, weight: object | None = None, bias: object | None = None, axes: int = 1, epsilon: float = 1e-05) -> Tensor:
    """
    (x - mean) / sqrt(variance + epsilon) weight + bias, with the mean and variance over the last `axes` axes, whose shape weight and bias have.
    """

def rms_norm(x: object, weight: object | None = None, axes: int = 1, epsilon: float = 1e-05) -> Tensor:
    """
    x / sqrt(mean(x^2) + epsilon) weight, with the mean over the last `axes` axes, whose shape weight has.
    """

def dropout(x: object, p: float = 0.5, generator: object | None = None) -> Tensor:
    """0 with probability p, else x / (1 - p), whether layers train or not."""

def scaled_dot_product_attention(q: object, k: object, v: object, causal: bool = False, mask: object | None = None, scale: object | None = None) -> Tensor:
    """
    softmax(scale q k^T + mask) v: q (..., T, D), k (..., S, D), v (..., S, E) -> (..., T, E). The scale is 1 / sqrt(D) unless it is given.
    """

def backward(ys: object, dys: object | None = None, retain_graph: bool = False) -> None:
    """
    Computes the gradients of sum(y * dy) over all ys, with ones for None, and adds them to grad of every leaf that they were computed from.
    """

def grad(ys: object, inputs: object, dys: object | None = None, retain_graph: bool = False, create_graph: bool = False, allow_unused: bool = False) -> object:
    """
    The gradients of sum(y * dy) over all ys with respect to the inputs: a tensor for one input, a list for a list. With create_graph they have gradients themselves. An input that is not used raises, or gives None with allow_unused.
    """

def parameter(x: object) -> Tensor:
    """The same tensor, made a leaf whose gradient is wanted."""

class Generator:
    """A place in one of 2^64 sequences of random numbers (Philox 4x32-10)."""

    def __init__(self, seed: int = 0, place: int = 0) -> None:
        """The same seed and place give the same numbers on every machine."""

    @property
    def seed(self) -> int:
        """Which sequence it is."""

    @property
    def place(self) -> int:
        """The number of blocks taken so far."""

    def _set(self, arg0: int, arg1: int, /) -> None: ...

def default_generator() -> Generator:
    """
    The generator that functions use unless they are given another. Any thread may use it.
    """

def manual_seed(seed: int) -> None:
    """Restarts the default generator with this seed."""

def zeros(*shape, dtype: object | None = None, device: object | None = None) -> Tensor:
    """Zeros of a shape, as in f(2, 3) or f((2, 3)); float32 by default."""

def ones(*shape, dtype: object | None = None, device: object | None = None) -> Tensor:
    """Ones of a shape, as in f(2, 3) or f((2, 3)); float32 by default."""

def full(shape: object, value: object, dtype: object | None = None, device: object | None = None) -> Tensor:
    """One number everywhere; an integer makes int64, as in NumPy."""

def arange(start: object, stop: object | None = None, step: object = 1, dtype: object | None = None, device: object | None = None) -> Tensor:
    """
    start, start + step, ... below stop; of integers it is int64, else float32.
    """

def uniform(low: float, high: float, shape: object, dtype: object | None = None, device: object | None = None, generator: object | None = None) -> Tensor:
    """Random numbers in (low, high]."""

def normal(mean: float, standard_deviation: float, shape: object, dtype: object | None = None, device: object | None = None, generator: object | None = None) -> Tensor:
    """Random numbers of a normal distribution."""

def rand(*shape, dtype: object | None = None, device: object | None = None, generator: object | None = None) -> Tensor:
    """Random numbers in (0, 1] of a shape, as in f(2, 3) or f((2, 3))."""

def randn(*shape, dtype: object | None = None, device: object | None = None, generator: object | None = None) -> Tensor:
    """Random numbers of N(0, 1) of a shape, as in f(2, 3) or f((2, 3))."""

def randint(low: int, high: int, shape: object, dtype: object | None = None, device: object | None = None, generator: object | None = None) -> Tensor:
    """Random integers in [low, high)."""

def permutation(n: int, dtype: object | None = None, device: object | None = None, generator: object | None = None) -> Tensor:
    """0 ... n - 1 in random order."""

def bernoulli(p: object, shape: object | None = None, dtype: object | None = None, device: object | None = None, generator: object | None = None) -> Tensor:
    """
    True with probability p, a number or a tensor of them, else False; bool unless `dtype` says otherwise.
    """

def _put(arg0: object, arg1: object, arg2: object, /) -> None:
    """
    Writes the values at the positions of the flattened tensor, which exist; without history.
    """

def array(object: object, dtype: object | None = None, device: object | None = None) -> Tensor:
    """
    A tensor with a copy of the values: numbers, nested lists, arrays, other tensors. Lists of floats become float32, lists of integers int64; arrays keep their type.
    """

def asarray(object: object, dtype: object | None = None, device: object | None = None) -> Tensor:
    """A tensor as it is; of anything else what array() makes of it."""

def from_numpy(array: object) -> Tensor:
    """
    A tensor that shares the memory of an array, which is writable, row major, aligned and in this machine's byte order.
    """

def from_dlpack(object: object) -> Tensor:
    """
    A tensor that shares the memory of an object with __dlpack__(), on the CPU.
    """

def _end() -> None: ...

def set_engine_options(**options) -> None:
    """
    Waits until everything is finished, then sets options: workers, schedule ("oldest_first", "first_ready", "immediate", "dry_run"), memory_budget ("automatic", "unbounded" or bytes), queue_capacity, inline_tiny, cpu_parts, source_threads, max_cached_bytes, copy_bytes_per_second.
    """

def engine_options() -> dict:
    """The options in force, by name."""

def engine_figures() -> dict:
    """
    Counts of operations, bytes of their records, and the seconds that this thread has waited, by name.
    """

def engine_report() -> str:
    """What the engine does at this moment, as text."""

def memory(device: object | None = None) -> dict:
    """
    Memory figures of a device in bytes, by name: live_bytes, peak_live_bytes and so on.
    """

def reset_peaks(device: object | None = None) -> None:
    """Starts the peaks again from what is live and queued now."""

def trim_cache(device: object | None = None) -> None:
    """Gives all cached memory back to the system."""

def resident_bytes() -> int:
    """The resident set of the process in bytes."""

def set_default_device(device: object) -> None:
    """Where new tensors are made unless a call names a device."""

def default_device() -> str:
    """Where new tensors are made: "cpu"."""

def wait_all(device: object | None = None) -> None:
    """
    Waits until everything is finished, on every device, whichever is named. Raises the oldest error that no wait has raised yet.
    """

def _recover() -> int: ...

class Mark:
    """A position in the program's order; see mark()."""

    def wait(self) -> None:
        """Waits until everything queued before the mark is finished."""

def mark() -> Mark:
    """The position behind everything that is queued so far."""

def to_dot(x: object) -> str:
    """The unfinished operations that a tensor waits for, as Graphviz text."""

def dry_run_report(device: object | None = None) -> dict:
    """What a dry run has counted, by name."""

def _profiler_start() -> None: ...

def _profiler_stop(path: object | None) -> dict: ...

def _blockers() -> list: ...

def _forget_blockers() -> None: ...

def set_math_mode(mode: str) -> None:
    """
    The precision with which products read float32: "float32", "bf16" or "tf32".
    """

def math_mode() -> str:
    """The precision with which products read float32."""

def _enter_no_grad() -> None: ...

def _enter_evaluation() -> None: ...

def _enter_detect_nan() -> None: ...

def _enter_layer(arg: str, /) -> None: ...

def _leave() -> None: ...

def grad_enabled() -> bool:
    """False within no_grad()."""

def is_training() -> bool:
    """
    False within evaluation(): dropout keeps everything, statistics are fixed.
    """

class Optimizer:
    """What all optimisers have in common."""

    def step(self) -> None:
        """Queues the update of every parameter that has a gradient."""

    def zero_grad(self) -> None:
        """Drops the gradients."""

    @property
    def groups(self) -> int:
        """The number of groups of parameters."""

    @property
    def lr(self) -> float:
        """The learning rate, of all groups."""

    @lr.setter
    def lr(self, arg: float, /) -> None: ...

    def set_lr(self, group: int, lr: float) -> None:
        """Sets the learning rate of one group."""

    def parameters(self, group: int = 0) -> list[Tensor]:
        """The parameters of a group, in the order in which they were given."""

    def missing(self, loss: object) -> list[str]:
        """
        What the loss was computed from and the optimiser does not train, as lines of text.
        """

class SGD(Optimizer):
    """
    Stochastic gradient descent. Options: lr = 0.01, momentum = 0, weight_decay = 0, nesterov = False.
    """

    def __init__(self, parameters: object, **options) -> None:
        """For a list of tensors, or of groups of them; options by name."""

    def add_group(self, parameters: object, **options) -> None:
        """Adds parameters with options of their own."""

class Adam(Optimizer):
    """
    Adam. Options: lr = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0.
    """

    def __init__(self, parameters: object, **options) -> None:
        """For a list of tensors, or of groups of them; options by name."""

    def add_group(self, parameters: object, **options) -> None:
        """Adds parameters with options of their own."""

class AdamW(Optimizer):
    """
    Adam with the decay apart from the gradient. Options as Adam's, weight_decay = 0.01.
    """

    def __init__(self, parameters: object, **options) -> None:
        """For a list of tensors, or of groups of them; options by name."""

    def add_group(self, parameters: object, **options) -> None:
        """Adds parameters with options of their own."""

class Adagrad(Optimizer):
    """
    Adagrad. Options: lr = 0.01, epsilon = 1e-10, weight_decay = 0, initial_accumulator = 0.
    """

    def __init__(self, parameters: object, **options) -> None:
        """For a list of tensors, or of groups of them; options by name."""

    def add_group(self, parameters: object, **options) -> None:
        """Adds parameters with options of their own."""

class RMSprop(Optimizer):
    """
    RMSprop. Options: lr = 0.01, alpha = 0.99, epsilon = 1e-8, weight_decay = 0, momentum = 0, centered = False.
    """

    def __init__(self, parameters: object, **options) -> None:
        """For a list of tensors, or of groups of them; options by name."""

    def add_group(self, parameters: object, **options) -> None:
        """Adds parameters with options of their own."""

def clip_norm(parameters: object, max_norm: float) -> Tensor:
    """
    Scales the gradients, seen as one vector, to a length of at most max_norm; returns the length before.
    """

def _save(arg0: str, arg1: object, /) -> None: ...

def _load(arg0: str, arg1: object, arg2: bool, arg3: object, /) -> None: ...

def _read(arg: str, /) -> dict: ...

def _save_checkpoint(arg0: str, arg1: object, /) -> None: ...

def _load_checkpoint(arg0: str, arg1: object, /) -> dict: ...

def _shuffled(arg0: int, arg1: int, arg2: int, /) -> list[int]: ...

def xavier_uniform(shape: object, dtype: object | None, device: object | None, generator: Generator) -> Tensor:
    """
    Uniform in [-b, b], b = sqrt(6 / (inputs + outputs)): Glorot and Bengio 2010.
    """

def xavier_normal(shape: object, dtype: object | None, device: object | None, generator: Generator) -> Tensor:
    """N(0, 2 / (inputs + outputs)): Glorot and Bengio 2010."""

def he_uniform(shape: object, dtype: object | None, device: object | None, generator: Generator) -> Tensor:
    """
    Uniform in [-b, b], b = sqrt(6 / inputs), for layers with relu: He et al. 2015.
    """

def he_normal(shape: object, dtype: object | None, device: object | None, generator: Generator) -> Tensor:
    """N(0, 2 / inputs), for layers with relu: He et al. 2015."""

def missing_leaves(y: object, known: object) -> list[str]:
    """The leaves that y was computed from and that are not among `known`."""

def _recomputed(arg0: object, arg1: object, /) -> object: ...

def _custom(arg0: str, arg1: object, arg2: object, arg3: object, /) -> object: ...

def _source(arg0: str, arg1: object, arg2: object, /) -> object: ...

def _with_gradient(arg0: str, arg1: object, arg2: object, arg3: object, /) -> object: ...

def conv2d(x: object, weight: object, bias: object | None = None, stride: object = 1, padding: object = 0, dilation: object = 1, groups: int = 1) -> Tensor:
    """
    The convolution: x (N, C, H, W), weight (O, C / groups, h, w), bias (O) -> (N, O, P, Q), P = (H + 2 padding - dilation (h - 1) - 1) // stride + 1, and Q the same of W and w. Sizes are numbers or pairs (height, width).
    """

def conv1d(x: object, weight: object, bias: object | None = None, stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1) -> Tensor:
    """
    The convolution with one axis: x (N, C, L), weight (O, C / groups, k), bias (O) -> (N, O, M).
    """

def max_pool2d(x: object, kernel: object, stride: object | None = None, padding: object = 0) -> Tensor:
    """
    The largest element of each window: (N, C, H, W) -> (N, C, P, Q), P = (H + 2 padding - kernel) // stride + 1, and Q the same of W. Sizes are numbers or pairs (height, width); the stride is the kernel's size unless it is given.
    """

def avg_pool2d(x: object, kernel: object, stride: object | None = None, padding: object = 0) -> Tensor:
    """
    The mean of each window, in which padding counts as 0; shapes as those of max_pool2d.
    """

def batch_norm(x: object, weight: object | None = None, bias: object | None = None, epsilon: float = 1e-05) -> tuple:
    """
    ((x - mean) / sqrt(variance + epsilon) weight + bias, mean, variance), with the mean and variance of each channel: x (N, C) or (N, C, ...), the others (C).
    """

def batch_norm_with(x: object, mean: object, variance: object, weight: object | None = None, bias: object | None = None, epsilon: float = 1e-05) -> Tensor:
    """
    batch_norm() with statistics that are given: x (N, C) or (N, C, ...), the others (C).
    """

class _LayerNorm:
    def __init__(self, arg0: object, arg1: float, arg2: bool, arg3: str, arg4: str, /) -> None: ...

    def __call__(self, arg: object, /) -> Tensor: ...

    def _copy(self) -> _LayerNorm: ...

    def _state(self) -> list: ...

    def _rebind(self, arg: dict, /) -> None: ...

class _RMSNorm:
    def __init__(self, arg0: object, arg1: float, arg2: str, arg3: str, /) -> None: ...

    def __call__(self, arg: object, /) -> Tensor: ...

    def _copy(self) -> _RMSNorm: ...

    def _state(self) -> list: ...

    def _rebind(self, arg: dict, /) -> None: ...

class _Conv2d:
    def __init__(self, arg0: int, arg1: int, arg2: object, arg3: object, arg4: object, arg5: object, arg6: int, arg7: bool, arg8: str, arg9: str, /) -> None: ...

    def __call__(self, arg: object, /) -> Tensor: ...

    def _copy(self) -> _Conv2d: ...

    def _state(self) -> list: ...

    def _rebind(self, arg: dict, /) -> None: ...

class _Conv1d:
    def __init__(self, arg0: int, arg1: int, arg2: int, arg3: int, arg4: int, arg5: int, arg6: int, arg7: bool, arg8: str, arg9: str, /) -> None: ...

    def __call__(self, arg: object, /) -> Tensor: ...

    def _copy(self) -> _Conv1d: ...

    def _state(self) -> list: ...

    def _rebind(self, arg: dict, /) -> None: ...

class _BatchNorm:
    def __init__(self, arg0: int, arg1: float, arg2: float, arg3: bool, arg4: str, arg5: str, /) -> None: ...

    def __call__(self, arg: object, /) -> Tensor: ...

    def _copy(self) -> _BatchNorm: ...

    def _state(self) -> list: ...

    def _rebind(self, arg: dict, /) -> None: ...

class _Dropout:
    def __init__(self, arg: float, /) -> None: ...

    def __call__(self, arg: object, /) -> Tensor: ...

    def _copy(self) -> _Dropout: ...

    def _state(self) -> list: ...

    def _rebind(self, arg: dict, /) -> None: ...

class _Embedding:
    def __init__(self, arg0: int, arg1: int, arg2: float, arg3: str, arg4: str, /) -> None: ...

    def __call__(self, arg: object, /) -> Tensor: ...

    def _copy(self) -> _Embedding: ...

    def _state(self) -> list: ...

    def _rebind(self, arg: dict, /) -> None: ...

    def scores(self, arg: object, /) -> Tensor: ...

class _RNN:
    def __init__(self, arg0: int, arg1: int, arg2: int, arg3: bool, arg4: bool, arg5: float, arg6: str, arg7: str, arg8: bool, /) -> None: ...

    def __call__(self, arg: object, /) -> Tensor: ...

    def _copy(self) -> _RNN: ...

    def _state(self) -> list: ...

    def _rebind(self, arg: dict, /) -> None: ...

    def run(self, x: object, lengths: object | None, h: object | None, c: object | None) -> list: ...

class _GRU:
    def __init__(self, arg0: int, arg1: int, arg2: int, arg3: bool, arg4: bool, arg5: float, arg6: str, arg7: str, /) -> None: ...

    def __call__(self, arg: object, /) -> Tensor: ...

    def _copy(self) -> _GRU: ...

    def _state(self) -> list: ...

    def _rebind(self, arg: dict, /) -> None: ...

    def run(self, x: object, lengths: object | None, h: object | None, c: object | None) -> list: ...

class _LSTM:
    def __init__(self, arg0: int, arg1: int, arg2: int, arg3: bool, arg4: bool, arg5: float, arg6: str, arg7: str, /) -> None: ...

    def __call__(self, arg: object, /) -> Tensor: ...

    def _copy(self) -> _LSTM: ...

    def _state(self) -> list: ...

    def _rebind(self, arg: dict, /) -> None: ...

    def run(self, x: object, lengths: object | None, h: object | None, c: object | None) -> list: ...

class _MultiHeadAttention:
    def __init__(self, arg0: int, arg1: int, arg2: bool, arg3: bool, arg4: str, arg5: str, /) -> None: ...

    def __call__(self, arg: object, /) -> Tensor: ...

    def _copy(self) -> _MultiHeadAttention: ...

    def _state(self) -> list: ...

    def _rebind(self, arg: dict, /) -> None: ...

    def attend(self, x: object, memory: object, mask: object | None) -> Tensor: ...

class _TransformerBlock:
    def __init__(self, arg0: int, arg1: int, arg2: int, arg3: bool, arg4: bool, arg5: float, arg6: str, arg7: float, arg8: bool, arg9: str, arg10: str, /) -> None: ...

    def __call__(self, arg: object, /) -> Tensor: ...

    def _copy(self) -> _TransformerBlock: ...

    def _state(self) -> list: ...

    def _rebind(self, arg: dict, /) -> None: ...

class _PositionalEncoding:
    def __init__(self, arg0: int, arg1: int, arg2: str, arg3: str, /) -> None: ...

    def __call__(self, arg: object, /) -> Tensor: ...

    def _copy(self) -> _PositionalEncoding: ...

    def _state(self) -> list: ...

    def _rebind(self, arg: dict, /) -> None: ...
