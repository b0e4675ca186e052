"""Initial values of parameters: functions of (shape, dtype, device, generator), and functions that make such."""
from .._core import _initial_constant as constant
from .._core import _initial_normal as normal
from .._core import _initial_orthogonal as orthogonal
from .._core import _initial_truncated_normal as truncated_normal
from .._core import _initial_uniform as uniform
from .._core import he_normal, he_uniform, xavier_normal, xavier_uniform

__all__ = [
    "constant", "he_normal", "he_uniform", "normal", "ones", "orthogonal", "truncated_normal", "uniform", "xavier_normal",
    "xavier_uniform", "zeros",
]

zeros, ones = constant(0), constant(1)
