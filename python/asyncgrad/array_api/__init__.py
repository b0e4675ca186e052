"""The Python array API standard, version 2024.12: https://data-apis.org/array-api/2024.12/

    xp = x.__array_namespace__()      # this module, for any tensor
    xp.cumulative_sum(xp.sort(x))

A module of its own, as some names of asyncgrad itself mean more than the standard's do: its sort() gives the places, too,
take() goes along the first axis, and var() has `ddof`. The functions here are those of asyncgrad with the standard's
parameters and results. They return at once, have the gradients of what they are made of, and keep tensors' classes.

Functions whose result's shape depends on values wait for these, and say so. What the library has no kernel for NumPy
computes on a thread of the library when the values are there, such as acos() and linalg.svd(): see docs/python.md for
the list, for which of these have gradients, and for what is missing.
"""
import math as _math

from .._dtypes import bool, float32, float64, int32, int64, uint8
from . import linalg
from ._creation import *  # noqa: F403
from ._elementwise import *  # noqa: F403
from ._info import __array_namespace_info__
from ._reductions import *  # noqa: F403
from ._selection import *  # noqa: F403
from ._shapes import *  # noqa: F403
from ._types import *  # noqa: F403
from .linalg import matmul, matrix_transpose, tensordot, vecdot

__array_api_version__ = "2024.12"
e, inf, nan, newaxis, pi = _math.e, _math.inf, _math.nan, None, _math.pi
