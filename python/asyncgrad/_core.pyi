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
    def shape(self) -> object:
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
    def nbytes(self) -> int: ...

    @property
    def itemsize(self) -> int: ...

    @property
    def requires_grad(self) -> bool:
        """
        Whether a gradient is computed for it, or for what it was computed from.
        """

    @requires_grad.setter
    def requires_grad(self, arg: bool, /) -> None: ...

    @property
    def is_leaf(self) -> bool: ...

    @property
    def grad(self) -> object:
        """The gradient so far, or None; assign None to drop it."""

    @grad.setter
    def grad(self, value: object | None) -> None: ...

    def zero_grad(self) -> None:
        """Drops the gradient."""

    def backward(self, gradient: object | None = None, retain_graph: bool = False) -> None:
        """
        Queues the gradients of every leaf that this was computed from, which are added to their grad. `gradient`, of this shape, stands for that of what follows; without one this has a single element.
        """

    def detach(self) -> object:
        """A tensor that shares the values and has no history."""

    def wait(self) -> object:
        """Waits until the values are computed, and returns the tensor."""

    def item(self) -> object:
        """The only element as a number of Python. Waits for it."""

    __array_priority__: int = 1000

    __array_ufunc__: None = None

    def relu(self) -> object:
        """max(x, 0)"""

    def sigmoid(self) -> object:
        """1 / (1 + e^-x)"""

    def tanh(self) -> object:
        """The hyperbolic tangent."""

    def exp(self) -> object:
        """e^x"""

    def log(self) -> object:
        """The natural logarithm."""

    def square(self) -> object:
        """x^2"""

    def sqrt(self) -> object:
        """The square root."""

    def abs(self) -> object:
        """The absolute value."""

    def rsqrt(self) -> object:
        """1 / sqrt(x)"""

    def sin(self) -> object:
        """The sine of x in radians."""

    def cos(self) -> object:
        """The cosine of x in radians."""

    def erf(self) -> object:
        """The error function."""

    def log1p(self) -> object:
        """log(1 + x), accurate near 0."""

    def expm1(self) -> object:
        """e^x - 1, accurate near 0."""

    def silu(self) -> object:
        """x sigmoid(x)"""

    def softplus(self) -> object:
        """log(1 + e^x)"""

    def gelu(self) -> object:
        """x (1 + erf(x / sqrt(2))) / 2"""

    def gelu_tanh(self) -> object:
        """gelu's approximation by tanh."""

    def floor(self) -> object:
        """The largest integer that is at most x. No gradient."""

    def isnan(self) -> object:
        """Whether it is NaN, as bool."""

    def isfinite(self) -> object:
        """Whether it is neither infinite nor NaN, as bool."""

    def logical_not(self) -> object:
        """Whether it is 0, as bool."""

    def round(self) -> object:
        """The nearest integer, halves to the even one. No gradient."""

    def sign(self) -> object:
        """-1, 0 or 1. No gradient."""

    def maximum(self, y: object) -> object:
        """The larger one of x and y, broadcast against each other."""

    def minimum(self, y: object) -> object:
        """The smaller one of x and y, broadcast against each other."""

    def pow(self, y: object) -> object:
        """x^y"""

    def equal(self, y: object) -> object:
        """Whether x = y, as bool."""

    def not_equal(self, y: object) -> object:
        """Whether x and y differ, as bool."""

    def less(self, y: object) -> object:
        """Whether x < y, as bool."""

    def less_equal(self, y: object) -> object:
        """Whether x <= y, as bool."""

    def greater(self, y: object) -> object:
        """Whether x > y, as bool."""

    def greater_equal(self, y: object) -> object:
        """Whether x >= y, as bool."""

    def logical_and(self, y: object) -> object:
        """Whether neither is 0, as bool."""

    def logical_or(self, y: object) -> object:
        """Whether not both are 0, as bool."""

    def logical_xor(self, y: object) -> object:
        """Whether one of them is 0, as bool."""

    def sum(self, axis: object | None = None, keepdims: bool = False) -> object:
        """
        The sum over all elements, or over axes, which are dropped or kept with extent 1.
        """

    def mean(self, axis: object | None = None, keepdims: bool = False) -> object:
        """
        The mean over all elements, or over axes, which are dropped or kept with extent 1.
        """

    def max(self, axis: object | None = None, keepdims: bool = False) -> object:
        """The largest element of all, or over axes; NaN if there is one."""

    def min(self, axis: object | None = None, keepdims: bool = False) -> object:
        """The smallest element of all, or over axes; NaN if there is one."""

    def any(self, axis: object | None = None, keepdims: bool = False) -> object:
        """Whether an element of all, or over axes, is not 0, as bool."""

    def all(self, axis: object | None = None, keepdims: bool = False) -> object:
        """Whether no element of all, or over axes, is 0, as bool."""

    def norm(self, axis: object | None = None, keepdims: bool = False) -> object:
        """sqrt(sum(x^2)) over all elements, or over axes."""

    def logsumexp(self, axis: object | None = None, keepdims: bool = False) -> object:
        """log(sum(e^x)) over all elements, or over axes."""

    def var(self, axis: object | None = None, ddof: float = 0.0, keepdims: bool = False) -> object:
        """
        The sum of (x - mean)^2 divided by n - ddof, over all elements or over axes.
        """

    def argmax(self, axis: object | None = None, keepdims: bool = False) -> object:
        """The index of the first largest element, in int64."""

    def argmin(self, axis: object | None = None, keepdims: bool = False) -> object:
        """The index of the first smallest element, in int64."""

    def cumsum(self, axis: object | None = None) -> object:
        """
        The sums of the elements up to each, along an axis or, with None, of all in order.
        """

    def softmax(self, axis: int = -1) -> object:
        """e^x / sum(e^x) along an axis, or its logarithm."""

    def log_softmax(self, axis: int = -1) -> object:
        """e^x / sum(e^x) along an axis, or its logarithm."""

    def reshape(self, *args) -> object:
        """
        The elements in the same order: reshape(2, -1) or reshape((2, -1)). Shares the values.
        """

    def transpose(self, *args) -> object:
        """
        A copy with the axes in another order: transpose(), transpose(1, 0) or transpose((1, 0)).
        """

    def permute(self, *args) -> object: ...

    @property
    def T(self) -> object:
        """A copy with all axes in the opposite order."""

    def swapaxes(self, axis1: int, axis2: int) -> object:
        """A copy with two axes exchanged."""

    def squeeze(self, axis: object | None = None) -> object:
        """
        Without the axes of extent 1, or without the given ones. Shares the values.
        """

    def expand_dims(self, axis: int) -> object:
        """With one more axis of extent 1. Shares the values."""

    def unsqueeze(self, axis: int) -> object:
        """With one more axis of extent 1. Shares the values."""

    def flip(self, axis: object | None = None) -> object:
        """The elements of the axes in the opposite order."""

    def broadcast_to(self, shape: object) -> object:
        """x repeated to a shape, as broadcasting does."""

    def tile(self, reps: object) -> object:
        """x repeated as a whole along each axis."""

    def split(self, parts: object, axis: int = 0) -> object:
        """
        The parts of x along an axis: as many equal ones, or those that begin at the given places.
        """

    def take(self, indices: object, axis: int = 0) -> object:
        """
        The elements of an axis at the indices, which have any shape and are not negative.
        """

    def take_along_axis(self, indices: object, axis: int) -> object:
        """For each index the element of the axis beside it."""

    def gather(self, indices: object, axis: int) -> object:
        """For each index the element of the axis beside it."""

    def scatter_add(self, indices: object, source: object, axis: int) -> object:
        """x with `source` added at the indices."""

    def one_hot(self, classes: int, dtype: object | None = None) -> object:
        """1 at the index, else 0: (...) -> (..., classes)."""

    def masked_fill(self, mask: object, value: object) -> object:
        """A number where the mask is not 0, else x."""

    def tril(self, k: int = 0) -> object:
        """A triangle of the matrices x, 0 elsewhere."""

    def triu(self, k: int = 0) -> object:
        """A triangle of the matrices x, 0 elsewhere."""

    def clip(self, min: object | None = None, max: object | None = None) -> object:
        """x, or the bound that it is beyond."""

    def matmul(self, w: object, transpose_x: bool = False, transpose_w: bool = False) -> object:
        """
        The matrix product (..., N, I) (..., I, O) -> (..., N, O); operands may be read transposed without a copy.
        """

    def retain_grad(self) -> None:
        """
        From now on backward() keeps the gradient of this result of an operation in grad.
        """

    def clone(self) -> object:
        """A copy with its own values."""

    def copy(self) -> object:
        """A copy with its own values."""

    def astype(self, dtype: object, copy: bool = True) -> object:
        """A copy in another type."""

    def to(self, target: object, non_blocking: bool = True, copy: bool = False) -> object:
        """
        In another type or on another device; itself if it is so already. Differentiable; never blocks.
        """

    def __dlpack__(self, **kwargs) -> object:
        """Shares the memory with another library. Waits for the values."""

    def __dlpack_device__(self) -> tuple: ...

def relu(x: object) -> object:
    """max(x, 0)"""

def sigmoid(x: object) -> object:
    """1 / (1 + e^-x)"""

def tanh(x: object) -> object:
    """The hyperbolic tangent."""

def exp(x: object) -> object:
    """e^x"""

def log(x: object) -> object:
    """The natural logarithm."""

def square(x: object) -> object:
    """x^2"""

def sqrt(x: object) -> object:
    """The square root."""

def abs(x: object) -> object:
    """The absolute value."""

def rsqrt(x: object) -> object:
    """1 / sqrt(x)"""

def sin(x: object) -> object:
    """The sine of x in radians."""

def cos(x: object) -> object:
    """The cosine of x in radians."""

def erf(x: object) -> object:
    """The error function."""

def log1p(x: object) -> object:
    """log(1 + x), accurate near 0."""

def expm1(x: object) -> object:
    """e^x - 1, accurate near 0."""

def silu(x: object) -> object:
    """x sigmoid(x)"""

def softplus(x: object) -> object:
    """log(1 + e^x)"""

def gelu(x: object) -> object:
    """x (1 + erf(x / sqrt(2))) / 2"""

def gelu_tanh(x: object) -> object:
    """gelu's approximation by tanh."""

def floor(x: object) -> object:
    """The largest integer that is at most x. No gradient."""

def isnan(x: object) -> object:
    """Whether it is NaN, as bool."""

def isfinite(x: object) -> object:
    """Whether it is neither infinite nor NaN, as bool."""

def logical_not(x: object) -> object:
    """Whether it is 0, as bool."""

def round(x: object) -> object:
    """The nearest integer, halves to the even one. No gradient."""

def sign(x: object) -> object:
    """-1, 0 or 1. No gradient."""

def maximum(x: object, y: object) -> object:
    """The larger one of x and y, broadcast against each other."""

def minimum(x: object, y: object) -> object:
    """The smaller one of x and y, broadcast against each other."""

def pow(x: object, y: object) -> object:
    """x^y"""

def equal(x: object, y: object) -> object:
    """Whether x = y, as bool."""

def not_equal(x: object, y: object) -> object:
    """Whether x and y differ, as bool."""

def less(x: object, y: object) -> object:
    """Whether x < y, as bool."""

def less_equal(x: object, y: object) -> object:
    """Whether x <= y, as bool."""

def greater(x: object, y: object) -> object:
    """Whether x > y, as bool."""

def greater_equal(x: object, y: object) -> object:
    """Whether x >= y, as bool."""

def logical_and(x: object, y: object) -> object:
    """Whether neither is 0, as bool."""

def logical_or(x: object, y: object) -> object:
    """Whether not both are 0, as bool."""

def logical_xor(x: object, y: object) -> object:
    """Whether one of them is 0, as bool."""

def sum(x: object, axis: object | None = None, keepdims: bool = False) -> object:
    """
    The sum over all elements, or over axes, which are dropped or kept with extent 1.
    """

def mean(x: object, axis: object | None = None, keepdims: bool = False) -> object:
    """
    The mean over all elements, or over axes, which are dropped or kept with extent 1.
    """

def max(x: object, axis: object | None = None, keepdims: bool = False) -> object:
    """The largest element of all, or over axes; NaN if there is one."""

def min(x: object, axis: object | None = None, keepdims: bool = False) -> object:
    """The smallest element of all, or over axes; NaN if there is one."""

def any(x: object, axis: object | None = None, keepdims: bool = False) -> object:
    """Whether an element of all, or over axes, is not 0, as bool."""

def all(x: object, axis: object | None = None, keepdims: bool = False) -> object:
    """Whether no element of all, or over axes, is 0, as bool."""

def norm(x: object, axis: object | None = None, keepdims: bool = False) -> object:
    """sqrt(sum(x^2)) over all elements, or over axes."""

def logsumexp(x: object, axis: object | None = None, keepdims: bool = False) -> object:
    """log(sum(e^x)) over all elements, or over axes."""

def var(x: object, axis: object | None = None, ddof: float = 0.0, keepdims: bool = False) -> object:
    """
    The sum of (x - mean)^2 divided by n - ddof, over all elements or over axes.
    """

def argmax(x: object, axis: object | None = None, keepdims: bool = False) -> object:
    """The index of the first largest element, in int64."""

def argmin(x: object, axis: object | None = None, keepdims: bool = False) -> object:
    """The index of the first smallest element, in int64."""

def cumsum(x: object, axis: object | None = None) -> object:
    """
    The sums of the elements up to each, along an axis or, with None, of all in order.
    """

def softmax(x: object, axis: int = -1) -> object:
    """e^x / sum(e^x) along an axis, or its logarithm."""

def log_softmax(x: object, axis: int = -1) -> object:
    """e^x / sum(e^x) along an axis, or its logarithm."""

def reshape(x: object, shape: object) -> object:
    """
    The elements in the same order; one extent may be -1. Shares the values.
    """

def transpose(x: object, axes: object | None = None) -> object:
    """A copy with the axes in another order; without `axes`, reversed."""

def swapaxes(x: object, axis1: int, axis2: int) -> object:
    """A copy with two axes exchanged."""

def squeeze(x: object, axis: object | None = None) -> object:
    """
    Without the axes of extent 1, or without the given ones. Shares the values.
    """

def expand_dims(x: object, axis: int) -> object:
    """With one more axis of extent 1. Shares the values."""

def unsqueeze(x: object, axis: int) -> object:
    """With one more axis of extent 1. Shares the values."""

def flip(x: object, axis: object | None = None) -> object:
    """The elements of the axes in the opposite order."""

def broadcast_to(x: object, shape: object) -> object:
    """x repeated to a shape, as broadcasting does."""

def tile(x: object, reps: object) -> object:
    """x repeated as a whole along each axis."""

def pad(x: object, pad_width: object, constant_values: object = 0) -> object:
    """
    x with a number around it: pad_width is a pair (before, after) for each axis.
    """

def concatenate(tensors: object, axis: int = 0) -> object:
    """The tensors one after another along an axis."""

def concat(tensors: object, axis: int = 0) -> object:
    """The tensors one after another along an axis."""

def stack(tensors: object, axis: int = 0) -> object:
    """The tensors side by side along an axis of their own."""

def split(x: object, parts: object, axis: int = 0) -> object:
    """
    The parts of x along an axis: as many equal ones, or those that begin at the given places.
    """

def take(x: object, indices: object, axis: int = 0) -> object:
    """
    The elements of an axis at the indices, which have any shape and are not negative.
    """

def take_along_axis(x: object, indices: object, axis: int) -> object:
    """For each index the element of the axis beside it."""

def gather(x: object, indices: object, axis: int) -> object:
    """For each index the element of the axis beside it."""

def scatter_add(x: object, indices: object, source: object, axis: int) -> object:
    """x with `source` added at the indices."""

def one_hot(x: object, classes: int, dtype: object | None = None) -> object:
    """1 at the index, else 0: (...) -> (..., classes)."""

def masked_fill(x: object, mask: object, value: object) -> object:
    """A number where the mask is not 0, else x."""

def tril(x: object, k: int = 0) -> object:
    """A triangle of the matrices x, 0 elsewhere."""

def triu(x: object, k: int = 0) -> object:
    """A triangle of the matrices x, 0 elsewhere."""

def where(condition: object, x: object, y: object) -> object:
    """x where the condition is not 0, else y."""

def clip(x: object, min: object | None = None, max: object | None = None) -> object:
    """x, or the bound that it is beyond."""

def matmul(x: object, w: object, transpose_x: bool = False, transpose_w: bool = False) -> object:
    """
    The matrix product (..., N, I) (..., I, O) -> (..., N, O); operands may be read transposed without a copy.
    """

def dense(x: object, weight: object, bias: object | None = None, activation: object | None = None) -> object:
    """
    activation(x weight + bias): x (N, I), weight (I, O), bias (O) -> (N, O). The activation is None or "relu".
    """

def l2_loss(prediction: object, label: object) -> object:
    """
    (prediction - label)^2 / 2, averaged over all axes but the first: (N, ...) -> (N)
    """

def squared_error(prediction: object, label: object) -> object:
    """
    (prediction - label)^2, averaged over all axes but the first: (N, ...) -> (N)
    """

def softmax_cross_entropy(prediction: object, label: object) -> object:
    """
    -log softmax(logits)[label] of each row: logits (N, C), labels (N) int64 -> (N)
    """

def cross_entropy(prediction: object, label: object) -> object:
    """
    -log softmax(logits)[label] of each row: logits (N, C), labels (N) int64 -> (N)
    """

def half_squared_error(prediction: object, label: object) -> object:
    """(x - y)^2 / 2 of each element."""

def reduce_add(tensors: object, device: object) -> object:
    """The sum, on a device, of tensors that lie on any devices."""

def layer_norm(x: object, weight: object | None = None, bias: object | None = None, axes: int = 1, epsilon: float = 1e-05) -> object:
    """
    (x - mean) / sqrt(variance + epsilon) weight + bias over the last axes.
    """

def rms_norm(x: object, weight: object | None = None, axes: int = 1, epsilon: float = 1e-05) -> object:
    """x / sqrt(mean of x^2 + epsilon) weight over the last axes."""

def dropout(x: object, p: float = 0.5, generator: object | None = None) -> object:
    """0 with probability p, else x / (1 - p)."""

def scaled_dot_product_attention(q: object, k: object, v: object, causal: bool = False, mask: object | None = None, scale: object | None = None) -> object:
    """softmax(scale q k^T + mask) v: (..., T, D), (..., S, D), (..., S, E)."""

def backward(ys: object, dys: object | None = None, retain_graph: bool = False) -> None:
    """
    Adds the gradients of the sum of all ys dys to grad of all leaves that the tensors depend on.
    """

def grad(ys: object, inputs: object, dys: object | None = None, retain_graph: bool = False, create_graph: bool = False, allow_unused: bool = False) -> object:
    """
    The gradients of the sum of all ys dys in the inputs: one for one, a list for a list. With create_graph they have gradients themselves.
    """

def parameter(x: object) -> object:
    """The same tensor, made a leaf whose gradient is wanted."""

class Generator:
    """A place in one of 2^64 sequences of random numbers (Philox 4x32-10)."""

    def __init__(self, seed: int = 0, place: int = 0) -> None: ...

    @property
    def seed(self) -> int: ...

    @property
    def place(self) -> int:
        """The number of blocks taken so far."""

def default_generator() -> Generator:
    """
    The generator that functions use unless they are given another. Any thread may use it.
    """

def manual_seed(seed: int) -> None:
    """Restarts the default generator with this seed."""

def zeros(*shape, dtype: object | None = None, device: object | None = None) -> object:
    """f(2, 3) or f((2, 3)): a new tensor of this shape."""

def ones(*shape, dtype: object | None = None, device: object | None = None) -> object:
    """f(2, 3) or f((2, 3)): a new tensor of this shape."""

def full(shape: object, value: object, dtype: object | None = None, device: object | None = None) -> object:
    """One number everywhere; an integer makes int64, as in NumPy."""

def arange(start: object, stop: object | None = None, step: object = 1, dtype: object | None = None, device: object | None = None) -> object:
    """
    start, start + step, ... below stop; of integers it is int64, else float32.
    """

def uniform(low: float, high: float, shape: object, dtype: object | None = None, device: object | None = None, generator: object | None = None) -> object:
    """Random numbers in (low, high]."""

def normal(mean: float, standard_deviation: float, shape: object, dtype: object | None = None, device: object | None = None, generator: object | None = None) -> object:
    """Random numbers of a normal distribution."""

def rand(*shape, dtype: object | None = None, device: object | None = None, generator: object | None = None) -> object:
    """Random numbers in (0, 1]."""

def randn(*shape, dtype: object | None = None, device: object | None = None, generator: object | None = None) -> object:
    """Random numbers of N(0, 1)."""

def randint(low: int, high: int, shape: object, dtype: object | None = None, device: object | None = None, generator: object | None = None) -> object:
    """Random integers in [low, high)."""

def permutation(n: int, dtype: object | None = None, device: object | None = None, generator: object | None = None) -> object:
    """0 ... n - 1 in random order."""

def bernoulli(p: object, shape: object | None = None, dtype: object | None = None, device: object | None = None, generator: object | None = None) -> object:
    """
    True with probability p, a number or a tensor of them, else False; bool unless `dtype` says otherwise.
    """

def array(object: object, dtype: object | None = None, device: object | None = None) -> object:
    """
    A tensor with a copy of the values: numbers, nested lists, arrays, other tensors. Lists of floats become float32, lists of integers int64; arrays keep their type.
    """

def asarray(object: object, dtype: object | None = None, device: object | None = None) -> object:
    """A tensor as it is; of anything else what array() makes of it."""

def from_numpy(array: object) -> object:
    """
    A tensor that shares the memory of an array, which is writable, row major, aligned and in this machine's byte order.
    """

def from_dlpack(object: object) -> object:
    """
    A tensor that shares the memory of an object with __dlpack__(), on the CPU.
    """

def set_engine_options(**options) -> None:
    """
    Waits until everything is finished, then sets options: workers, schedule ("oldest_first", "first_ready", "immediate", "dry_run"), memory_budget ("automatic", "unbounded" or bytes), queue_capacity, inline_tiny, cpu_parts, source_threads, max_cached_bytes, copy_bytes_per_second.
    """

def engine_options() -> dict:
    """The options in force, by name."""

def engine_figures() -> dict:
    """Counts of operations, and the seconds that this thread has waited."""

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

def set_default_device(device: object) -> None: ...

def default_device() -> str: ...

def wait_all(device: object | None = None) -> None:
    """
    Waits until everything is finished. Raises the oldest error that no wait has raised yet.
    """

def recover() -> int:
    """
    After a failure: waits, makes what operations in place have skipped valid again, and forgets all errors.
    """

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

def set_math_mode(mode: str) -> None:
    """
    The precision with which products read float32: "float32", "bf16" or "tf32".
    """

def math_mode() -> str: ...

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

    def set_lr(self, group: int, lr: float) -> None: ...

    def parameters(self, group: int = 0) -> object: ...

    def missing(self, loss: object) -> list[str]:
        """
        What the loss was computed from and the optimiser does not train, as lines of text.
        """

class SGD(Optimizer):
    """
    Stochastic gradient descent. Options: lr = 0.01, momentum = 0, weight_decay = 0, nesterov = False.
    """

    def __init__(self, parameters: object, **options) -> None: ...

    def add_group(self, parameters: object, **options) -> None:
        """Adds parameters with options of their own."""

class Adam(Optimizer):
    """
    Adam. Options: lr = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0.
    """

    def __init__(self, parameters: object, **options) -> None: ...

    def add_group(self, parameters: object, **options) -> None:
        """Adds parameters with options of their own."""

class AdamW(Optimizer):
    """
    Adam with the decay apart from the gradient. Options as Adam's, weight_decay = 0.01.
    """

    def __init__(self, parameters: object, **options) -> None: ...

    def add_group(self, parameters: object, **options) -> None:
        """Adds parameters with options of their own."""

class Adagrad(Optimizer):
    """
    Adagrad. Options: lr = 0.01, epsilon = 1e-10, weight_decay = 0, initial_accumulator = 0.
    """

    def __init__(self, parameters: object, **options) -> None: ...

    def add_group(self, parameters: object, **options) -> None:
        """Adds parameters with options of their own."""

class RMSprop(Optimizer):
    """
    RMSprop. Options: lr = 0.01, alpha = 0.99, epsilon = 1e-8, weight_decay = 0, momentum = 0, centered = False.
    """

    def __init__(self, parameters: object, **options) -> None: ...

    def add_group(self, parameters: object, **options) -> None:
        """Adds parameters with options of their own."""

def clip_norm(parameters: object, max_norm: float) -> object:
    """
    Scales the gradients, seen as one vector, to a length of at most max_norm; returns the length before.
    """

def xavier_uniform(shape: object, dtype: object | None, device: object | None, generator: Generator) -> object: ...

def xavier_normal(shape: object, dtype: object | None, device: object | None, generator: Generator) -> object: ...

def he_uniform(shape: object, dtype: object | None, device: object | None, generator: Generator) -> object: ...

def he_normal(shape: object, dtype: object | None, device: object | None, generator: Generator) -> object: ...

def missing_leaves(y: object, known: object) -> list[str]:
    """The leaves that y was computed from and that are not among `known`."""

def conv2d(x: object, weight: object, bias: object | None = None, stride: object = 1, padding: object = 0, dilation: object = 1, groups: int = 1) -> object:
    """
    The convolution: x (N, C, H, W), weight (O, C / groups, h, w), bias (O) -> (N, O, P, Q), P = (H + 2 padding - dilation (h - 1) - 1) // stride + 1, and Q alike. Sizes are numbers or pairs (height, width).
    """

def conv1d(x: object, weight: object, bias: object | None = None, stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1) -> object:
    """
    The convolution with one axis: x (N, C, L), weight (O, C / groups, k), bias (O) -> (N, O, M).
    """

def max_pool2d(x: object, kernel: object, stride: object | None = None, padding: object = 0) -> object:
    """
    The largest element of each window: (N, C, H, W) -> (N, C, P, Q), P = (H + 2 padding - kernel) // stride + 1, and Q alike. Sizes are numbers or pairs (height, width); without a stride it is the kernel's size.
    """

def avg_pool2d(x: object, kernel: object, stride: object | None = None, padding: object = 0) -> object:
    """
    The mean of each window, in which padding counts as 0; shapes as those of max_pool2d.
    """

def batch_norm(x: object, weight: object | None = None, bias: object | None = None, epsilon: float = 1e-05) -> tuple:
    """
    ((x - mean) / sqrt(variance + epsilon) weight + bias, mean, variance), with the mean and variance of each channel: x (N, C) or (N, C, ...), the others (C).
    """

def batch_norm_with(x: object, mean: object, variance: object, weight: object | None = None, bias: object | None = None, epsilon: float = 1e-05) -> object:
    """The same with statistics that are given."""
