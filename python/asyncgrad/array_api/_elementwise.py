"""Functions of each element."""
import math
import operator

from .. import _core
from .._computed import check_no_gradient, computed, number_beside, recorded
from ._shapes import broadcast_arrays
from ._types import floating, result_type

Tensor = _core.Tensor


def _named(name, doc, call):
    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return call


def _unary(name, function, doc):
    return _named(name, doc, lambda x, /: function(x))


def _binary(name, function, doc):
    return _named(name, doc, lambda x1, x2, /: function(*_with_an_array(x1, x2)))


def _with_an_array(*operands):
    """The operands, of which one has to be a tensor: Python would compute with two numbers or lists itself."""
    if not any(isinstance(x, Tensor) for x in operands):
        raise TypeError(f"one operand at least is an array of this library, got {' and '.join(type(x).__name__ for x in operands)}")
    return operands


# --- With kernels of the library.

abs = _unary("abs", _core.abs, "The absolute value.")
cos = _unary("cos", _core.cos, "The cosine of x in radians.")
cosh = _unary("cosh", _core.cosh, "The hyperbolic cosine.")
exp = _unary("exp", _core.exp, "e^x")
expm1 = _unary("expm1", _core.expm1, "e^x - 1, accurate near 0.")
floor = _unary("floor", _core.floor, "The greatest integer that is not greater than x, in the type of x.")
isfinite = _unary("isfinite", _core.isfinite, "Whether it is neither infinite nor NaN, as bool.")
isnan = _unary("isnan", _core.isnan, "Whether it is NaN, as bool.")
log = _unary("log", _core.log, "The natural logarithm.")
log1p = _unary("log1p", _core.log1p, "log(1 + x), accurate near 0.")
log2 = _unary("log2", _core.log2, "The logarithm to base 2.")
log10 = _unary("log10", _core.log10, "The logarithm to base 10.")
logical_not = _unary("logical_not", _core.logical_not, "Whether it is 0, as bool.")
negative = _unary("negative", operator.neg, "-x")
positive = _unary("positive", operator.pos, "A copy of x.")
round = _unary("round", _core.round, "The nearest integer, the even one of two, in the type of x.")
sign = _unary("sign", _core.sign, "-1, 0 or 1; NaN of NaN.")
sin = _unary("sin", _core.sin, "The sine of x in radians.")
sinh = _unary("sinh", _core.sinh, "The hyperbolic sine.")
sqrt = _unary("sqrt", _core.sqrt, "The square root.")
square = _unary("square", _core.square, "x^2")
tanh = _unary("tanh", _core.tanh, "The hyperbolic tangent.")

add = _binary("add", operator.add, "x1 + x2")
divide = _binary("divide", operator.truediv, "x1 / x2")
equal = _binary("equal", operator.eq, "x1 == x2, as bool.")
floor_divide = _binary("floor_divide", operator.floordiv, "x1 // x2")
greater = _binary("greater", operator.gt, "x1 > x2, as bool.")
greater_equal = _binary("greater_equal", operator.ge, "x1 >= x2, as bool.")
hypot = _binary("hypot", _core.hypot, "sqrt(x1^2 + x2^2), without overflow of the squares.")
less = _binary("less", operator.lt, "x1 < x2, as bool.")
less_equal = _binary("less_equal", operator.le, "x1 <= x2, as bool.")
logical_and = _binary("logical_and", _core.logical_and, "Whether neither is 0, as bool.")
logical_or = _binary("logical_or", _core.logical_or, "Whether not both are 0, as bool.")
logical_xor = _binary("logical_xor", _core.logical_xor, "Whether one of them is 0, as bool.")
maximum = _binary("maximum", _core.maximum, "The larger one; NaN if one of them is.")
minimum = _binary("minimum", _core.minimum, "The smaller one; NaN if one of them is.")
multiply = _binary("multiply", operator.mul, "x1 * x2")
not_equal = _binary("not_equal", operator.ne, "x1 != x2, as bool.")
pow = _binary("pow", operator.pow, "x1 ** x2")
remainder = _binary("remainder", operator.mod, "What x1 // x2 leaves, with the sign of x2.")
subtract = _binary("subtract", operator.sub, "x1 - x2")


# --- Composed of these.

def _whole(function):
    """A function that leaves integers as they are."""
    return lambda x: function(x) if x.dtype.is_floating else +x


ceil = _unary("ceil", _whole(lambda x: -_core.floor(-x)), "The least integer that is not less than x, in the type of x.")
trunc = _unary("trunc", _whole(lambda x: _core.where(x < 0, -_core.floor(-x), _core.floor(x))), "x without its fraction.")
tan = _unary("tan", lambda x: _core.sin(x) / _core.cos(x), "The tangent of x in radians.")
isinf = _unary("isinf", lambda x: _core.abs(x) == math.inf if x.dtype.is_floating else _core.not_equal(x, x),
               "Whether it is infinite, as bool.")
reciprocal = _unary("reciprocal", lambda x: 1 / x, "1 / x")
logaddexp = _binary("logaddexp", lambda x, y: _core.logsumexp(_core.stack(_of_one_type(x, y)), 0), "log(e^x1 + e^x2)")


def clip(x, /, min=None, max=None):  # noqa: A002
    """x, or the bound that it is beyond: numbers, or tensors that are broadcast. The result has the type of x, and is NaN for NaN."""
    if not any(isinstance(bound, Tensor) or bound != bound for bound in (min, max)):
        return _core.clip(x, min, max)
    y = x if min is None else _core.maximum(x, min)
    return (y if max is None else _core.minimum(y, max)).astype(x.dtype, copy=False)


# --- By NumPy, on a thread of the library.

def _of_one_type(*operands):
    """The operands as tensors of the type and the shape that they have in common."""
    like = next(x for x in _with_an_array(*operands) if isinstance(x, Tensor))
    dtype = result_type(*operands)
    return broadcast_arrays(*(x.astype(dtype, copy=False) if isinstance(x, Tensor) else number_beside(like, x, dtype) for x in operands))


def _of_numpy(name, numpy_name, derivative, doc):
    """NumPy's function of floating numbers, with its derivative as a function of x."""
    def call(x, /):
        x = floating(x)
        value = computed(name, numpy_name, [x], x.shape, x.dtype)
        return recorded(name, value, [x], [x], lambda dy, x: dy * derivative(x))

    return _named(name, doc, call)


acos = _of_numpy("acos", "arccos", lambda x: -1 / _core.sqrt(1 - x * x), "The inverse of the cosine.")
acosh = _of_numpy("acosh", "arccosh", lambda x: 1 / _core.sqrt(x * x - 1), "The inverse of the hyperbolic cosine.")
asin = _of_numpy("asin", "arcsin", lambda x: 1 / _core.sqrt(1 - x * x), "The inverse of the sine.")
asinh = _of_numpy("asinh", "arcsinh", lambda x: 1 / _core.hypot(x, 1.0), "The inverse of the hyperbolic sine.")
atan = _of_numpy("atan", "arctan", lambda x: 1 / (1 + x * x), "The inverse of the tangent.")
atanh = _of_numpy("atanh", "arctanh", lambda x: 1 / (1 - x * x), "The inverse of the hyperbolic tangent.")


def atan2(x1, x2, /):
    """The angle of the point (x2, x1), in [-pi, pi]."""
    y, x = (floating(operand) for operand in _of_one_type(x1, x2))
    value = computed("atan2", "arctan2", [y, x], x.shape, x.dtype)

    def backward(dy, y, x):
        square = x ** 2 + y ** 2
        share = dy / _core.where(square == 0, 1, square)  # at (0, 0) the gradient is 0
        return [share * x, -share * y]

    return recorded("atan2", value, [y, x], [y, x], backward)


def signbit(x, /):
    """Whether the sign of x, which may be -0 or NaN, is a minus, as bool."""
    return computed("signbit", "signbit", [x], x.shape, "bool")


def copysign(x1, x2, /):
    """x1 with the sign of x2, which may be -0 or NaN."""
    x, y = (floating(operand) for operand in _of_one_type(x1, x2))
    value = computed("copysign", "copysign", [x, y], x.shape, x.dtype)

    def backward(dy, x, value):
        return [_core.where(signbit(x) ^ signbit(value), -dy, dy), None]

    return recorded("copysign", value, [x, y], [x, value], backward)


def nextafter(x1, x2, /):
    """The next number of the type after x1 toward x2."""
    x, y = _of_one_type(x1, x2)
    check_no_gradient("nextafter", x, y)
    return computed("nextafter", "nextafter", [x, y], x.shape, x.dtype)


bitwise_and = _binary("bitwise_and", operator.and_, "x1 & x2, of integers or of bool.")
bitwise_or = _binary("bitwise_or", operator.or_, "x1 | x2, of integers or of bool.")
bitwise_xor = _binary("bitwise_xor", operator.xor, "x1 ^ x2, of integers or of bool.")
bitwise_left_shift = _binary("bitwise_left_shift", operator.lshift, "x1 << x2")
bitwise_right_shift = _binary("bitwise_right_shift", operator.rshift, "x1 >> x2")
bitwise_invert = _unary("bitwise_invert", operator.invert, "~x, of integers or of bool.")

__all__ = sorted(name for name, value in globals().items() if callable(value) and value.__module__ == __name__ and name[0] != "_")
