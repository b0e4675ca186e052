"""mxnet.np: functions of each element. The results for integers are integers, rounded toward 0."""
import operator as _operator

import numpy as _np

import asyncgrad as _ag
from asyncgrad import array_api as _xp
from asyncgrad.extend import as_class as _as_class

from . import autograd as _autograd
from .multiarray import check_no_others as _check_no_others
from .multiarray import given as _given
from .multiarray import number_beside as _number_beside
from .multiarray import remainder as _remainder


def _named(name, call):
    call.__name__, call.__doc__ = name, f"As numpy.{name}, of each element. Numbers give numbers."
    return call


def _unary(name, function, number):
    """A function that computes in floating numbers; the result has the type of x."""
    def call(x, out=None, **others):
        _check_no_others(f"np.{name}", others)
        if not isinstance(x, _ag.Tensor):
            return number(x)
        if x.dtype.is_floating:
            return _given(function(x), out)
        return _given(function(x.astype("float32")), out, None if x.dtype == "bool" else x.dtype)  # integers stay so

    return _named(name, call)


for _name in ("exp", "log", "sqrt", "sin", "cos", "tanh", "sinh", "cosh", "log1p", "expm1", "log2", "log10"):
    globals()[_name] = _unary(_name, getattr(_ag, _name), getattr(_np, _name))
tan = _unary("tan", _xp.tan, _np.tan)
degrees = _unary("degrees", lambda x: x * (180 / _np.pi), _np.degrees)
radians = _unary("radians", lambda x: x * (_np.pi / 180), _np.radians)
reciprocal = _unary("reciprocal", _xp.reciprocal, _np.reciprocal)


def _flat(name, function):
    """A function whose gradient is 0: MXNet computes that, too."""
    def call(x):
        y = function(x)
        if not (_autograd.is_recording() and x.requires_grad):
            return y
        return _as_class(_ag.with_gradient(name, y, [x], lambda dy: dy * 0), type(x))

    return call


def _halves_down(x):
    below = _ag.floor(x)
    return _ag.where(x - below <= 0.5, below, below + 1)


def _sign(x):
    return _ag.where(_ag.isnan(x), 0.0, _ag.sign(x)) if x.dtype.is_floating else _ag.sign(x)


_round, _rint = _flat("around", _ag.round), _flat("rint", _halves_down)
trunc = fix = _unary("trunc", _flat("trunc", lambda x: _ag.sign(x) * _ag.floor(_ag.abs(x))), _np.trunc)
ceil = _unary("ceil", _flat("ceil", lambda x: -_ag.floor(-x)), _np.ceil)


def _same(name, number):
    """A function that is computed in the type of x."""
    function = getattr(_ag, name)
    if name in ("sign", "floor"):
        function = _flat(name, _sign if name == "sign" else function)

    def call(x, out=None, **others):
        _check_no_others(f"np.{name}", others)
        return _given(function(x), out) if isinstance(x, _ag.Tensor) else number(x)

    return _named(name, call)


for _name in ("abs", "square", "sign", "floor"):
    globals()[_name] = _same(_name, getattr(_np, _name))
absolute = fabs = globals()["abs"]


def around(x, decimals=0, out=None):
    """The nearest number with that many decimals, halves to the even one."""
    if not decimals:
        return _given(_round(x), out)
    if not x.dtype.is_floating:  # as in MXNet, which leaves digits out there
        unit = 10 ** max(-decimals, 0)
        return _given(_ag.sign(x) * (_ag.abs(x) // unit) * unit, out)
    return _given(_round(x * 10 ** decimals) / 10 ** decimals, out)


round = round_ = around


def rint(x, out=None):
    """The nearest integer, halves to the smaller one as in MXNet."""
    return _given(_rint(x), out)


def _binary(name, function, doc):
    """A function of two arrays, or of an array and a number, broadcast against each other. Two numbers give numbers."""
    number = getattr(_np, name)

    def call(x1, x2, out=None, **others):
        if others:
            _check_no_others(f"np.{name}", others)
        if not isinstance(x1, _ag.Tensor) and not isinstance(x2, _ag.Tensor):
            return number(x1, x2)
        return _given(function(x1, x2), out)

    call.__name__, call.__doc__ = name, doc
    return call


def _chosen(function, wins):
    """The larger or the smaller one, of which the first gets the gradient where both are equal, as in MXNet."""
    def call(x1, x2):
        if not _autograd.is_recording():
            return function(x1, x2)
        if not isinstance(x1, _ag.Tensor):
            x1, x2 = x2, x1
        return _ag.where(_ag.logical_or(wins(x1, x2), _ag.isnan(x1)), x1, x2)

    return call


maximum = _binary("maximum", _chosen(_ag.maximum, _ag.greater_equal), "The larger one of x1 and x2, broadcast against each other.")
minimum = _binary("minimum", _chosen(_ag.minimum, _ag.less_equal), "The smaller one of x1 and x2, broadcast against each other.")
hypot = _binary("hypot", _ag.hypot, "sqrt(x1^2 + x2^2)")
add = _binary("add", _operator.add, "x1 + x2")
subtract = _binary("subtract", _operator.sub, "x1 - x2")
multiply = _binary("multiply", _operator.mul, "x1 * x2")
divide = _binary("divide", _operator.truediv, "x1 / x2")
true_divide = divide
power = _binary("power", _operator.pow, "x1 ** x2")
mod = _binary("mod", _remainder, "What x1 // x2 leaves, with the sign of x2; 0 where x2 is 0.")
remainder = mod
ldexp = _binary("ldexp", lambda x1, x2: x1 * 2.0 ** x2, "x1 * 2 ** x2")
equal = _binary("equal", _operator.eq, "x1 == x2, as bool.")
not_equal = _binary("not_equal", _operator.ne, "x1 != x2, as bool.")
less = _binary("less", _operator.lt, "x1 < x2, as bool.")
less_equal = _binary("less_equal", _operator.le, "x1 <= x2, as bool.")
greater = _binary("greater", _operator.gt, "x1 > x2, as bool.")
greater_equal = _binary("greater_equal", _operator.ge, "x1 >= x2, as bool.")
logical_and = _binary("logical_and", _ag.logical_and, "Whether neither is 0, as bool.")
logical_or = _binary("logical_or", _ag.logical_or, "Whether not both are 0, as bool.")
logical_xor = _binary("logical_xor", _ag.logical_xor, "Whether one of them is 0, as bool.")


def copysign(x1, x2, out=None):
    """x1 if its sign is that of x2, else -x1. As in MXNet, -0 counts as 0."""
    if not isinstance(x1, _ag.Tensor) and not isinstance(x2, _ag.Tensor):
        return _np.copysign(x1, x2)
    if not isinstance(x1, _ag.Tensor):
        x1 = _number_beside(x2, x1)
    both_positive = _ag.logical_and(_ag.greater_equal(x1, 0), _ag.greater_equal(x2, 0))
    both_negative = _ag.logical_and(_ag.less(x1, 0), _ag.less(x2, 0))
    return _given(_ag.where(_ag.logical_or(both_positive, both_negative), x1, -x1), out)


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None, **others):
    """x with numbers in place of NaN and of infinities, by default 0 and the largest numbers of its type."""
    if not x.dtype.is_floating:
        return x.copy() if copy else x
    largest = _np.finfo(str(x.dtype)).max
    y = x
    for place, value in ((x == _np.inf, largest if posinf is None else posinf),
                         (x == -_np.inf, -largest if neginf is None else neginf), (_ag.isnan(x), nan)):
        y = _ag.where(place, _number_beside(x, float(value)), y)
    if copy:
        return y
    x[...] = y
    return x


def negative(x, out=None):
    """-x"""
    return _given(-x, out)


def isnan(x):
    """Whether it is NaN, as bool."""
    return _ag.isnan(x)


def isinf(x):
    """Whether it is infinite, as bool."""
    return _xp.isinf(x)


def isposinf(x, out=None):
    """Whether it is the positive infinity, as bool."""
    return _given(x == _np.inf if x.dtype.is_floating else _ag.not_equal(x, x), out)


def isneginf(x, out=None):
    """Whether it is the negative infinity, as bool."""
    return _given(x == -_np.inf if x.dtype.is_floating else _ag.not_equal(x, x), out)


def isfinite(x):
    """Whether it is neither infinite nor NaN, as bool."""
    return _ag.isfinite(x)


def logical_not(x, out=None):
    """Whether it is 0, as bool."""
    return _given(_ag.logical_not(x), out)


def clip(a, a_min, a_max, out=None):
    """a, or the bound that it is beyond; None is no bound."""
    return _given(_ag.clip(a, a_min, a_max), out)
