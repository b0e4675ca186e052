"""mxnet.np: functions of each element. The results for integers are integers, rounded toward 0."""
import operator as _operator

import numpy as _np

from .. import _core
from .multiarray import check_no_others as _check_no_others
from .multiarray import given as _given


def _named(name, call):
    call.__name__, call.__doc__ = name, f"As numpy.{name}, of each element. Numbers give numbers."
    return call


def _unary(name, function, number):
    """A function that computes in floating numbers; the result has the type of x."""
    def call(x, out=None, **others):
        _check_no_others(f"np.{name}", others)
        if not isinstance(x, _core.Tensor):
            return number(x)
        if x.dtype.is_floating:
            return _given(function(x), out)
        return _given(function(x.astype("float32")), out, None if x.dtype == "bool" else x.dtype)  # integers stay so

    return _named(name, call)


for _name in ("exp", "log", "sqrt", "sin", "cos", "tanh", "log1p", "expm1"):
    globals()[_name] = _unary(_name, getattr(_core, _name), getattr(_np, _name))
tan = _unary("tan", lambda x: _core.sin(x) / _core.cos(x), _np.tan)
sinh = _unary("sinh", lambda x: (_core.exp(x) - _core.exp(-x)) / 2, _np.sinh)
cosh = _unary("cosh", lambda x: (_core.exp(x) + _core.exp(-x)) / 2, _np.cosh)
log2 = _unary("log2", lambda x: _core.log(x) / _np.log(2.0), _np.log2)
log10 = _unary("log10", lambda x: _core.log(x) / _np.log(10.0), _np.log10)
degrees = _unary("degrees", lambda x: x * (180 / _np.pi), _np.degrees)
radians = _unary("radians", lambda x: x * (_np.pi / 180), _np.radians)
trunc = fix = _unary("trunc", lambda x: _core.sign(x) * _core.floor(_core.abs(x)), _np.trunc)
reciprocal = _unary("reciprocal", lambda x: 1 / x, _np.reciprocal)
ceil = _unary("ceil", lambda x: -_core.floor(-x), _np.ceil)


def _same(name, number):
    """A function that is computed in the type of x."""
    function = getattr(_core, name)

    def call(x, out=None, **others):
        _check_no_others(f"np.{name}", others)
        return _given(function(x), out) if isinstance(x, _core.Tensor) else number(x)

    return _named(name, call)


for _name in ("abs", "square", "sign", "floor"):
    globals()[_name] = _same(_name, getattr(_np, _name))
absolute = fabs = globals()["abs"]


def around(x, decimals=0, out=None):
    """The nearest number with that many decimals, halves to the even one."""
    if not decimals:
        return _given(_core.round(x), out)
    return _given(_core.round(x * 10 ** decimals) / 10 ** decimals, out)


round = round_ = around


def rint(x, out=None):
    """The nearest integer, halves to the even one."""
    return _given(_core.round(x), out)


def _binary(name, function, doc):
    """A function of two arrays, or of an array and a number, broadcast against each other."""
    def call(x1, x2, out=None):
        return _given(function(x1, x2), out)

    call.__name__, call.__doc__ = name, doc
    return call


maximum = _binary("maximum", _core.maximum, "The larger one of x1 and x2, broadcast against each other.")
minimum = _binary("minimum", _core.minimum, "The smaller one of x1 and x2, broadcast against each other.")
hypot = _binary("hypot", lambda x1, x2: _core.sqrt(x1 * x1 + x2 * x2), "sqrt(x1^2 + x2^2)")
add = _binary("add", _operator.add, "x1 + x2")
subtract = _binary("subtract", _operator.sub, "x1 - x2")
multiply = _binary("multiply", _operator.mul, "x1 * x2")
divide = _binary("divide", _operator.truediv, "x1 / x2")
true_divide = divide
power = _binary("power", _operator.pow, "x1 ** x2")
mod = _binary("mod", _operator.mod, "x1 % x2")
remainder = mod
ldexp = _binary("ldexp", lambda x1, x2: x1 * 2.0 ** x2, "x1 * 2 ** x2")
equal = _binary("equal", _operator.eq, "x1 == x2, as bool.")
not_equal = _binary("not_equal", _operator.ne, "x1 != x2, as bool.")
less = _binary("less", _operator.lt, "x1 < x2, as bool.")
less_equal = _binary("less_equal", _operator.le, "x1 <= x2, as bool.")
greater = _binary("greater", _operator.gt, "x1 > x2, as bool.")
greater_equal = _binary("greater_equal", _operator.ge, "x1 >= x2, as bool.")
logical_and = _binary("logical_and", _core.logical_and, "Whether neither is 0, as bool.")
logical_or = _binary("logical_or", _core.logical_or, "Whether not both are 0, as bool.")
logical_xor = _binary("logical_xor", _core.logical_xor, "Whether one of them is 0, as bool.")


def copysign(x1, x2, out=None):
    """|x1| with the sign of x2."""
    size = _core.abs(x1) if isinstance(x1, _core.Tensor) else _np.abs(x1)
    negative_there = 1 / x2 < 0 if isinstance(x2, _core.Tensor) else _np.signbit(x2)
    if not isinstance(negative_there, _core.Tensor):
        return _given(-size if negative_there else size, out)
    return _given(_core.where(negative_there, -size, size), out)


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None, **others):
    """x with numbers in place of NaN and of infinities, by default 0 and the largest numbers of its type."""
    if not x.dtype.is_floating:
        return x.copy() if copy else x
    largest = _np.finfo(str(x.dtype)).max
    y = _core.where(x == _np.inf, float(largest if posinf is None else posinf), x)
    y = _core.where(x == -_np.inf, float(-largest if neginf is None else neginf), y)
    y = _core.where(_core.isnan(x), float(nan), y)
    if copy:
        return y
    x[...] = y
    return x


def negative(x, out=None):
    """-x"""
    return _given(-x, out)


def isnan(x):
    """Whether it is NaN, as bool."""
    return _core.isnan(x)


def isinf(x):
    """Whether it is infinite, as bool."""
    return _core.abs(x) == _np.inf


def isposinf(x, out=None):
    """Whether it is the positive infinity, as bool."""
    return _given(x == _np.inf, out)


def isneginf(x, out=None):
    """Whether it is the negative infinity, as bool."""
    return _given(x == -_np.inf, out)


def isfinite(x):
    """Whether it is neither infinite nor NaN, as bool."""
    return _core.isfinite(x)


def logical_not(x, out=None):
    """Whether it is 0, as bool."""
    return _given(_core.logical_not(x), out)


def clip(a, a_min, a_max, out=None):
    """a, or the bound that it is beyond; None is no bound."""
    return _given(_core.clip(a, a_min, a_max), out)
