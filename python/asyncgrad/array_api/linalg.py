"""The standard's extension of linear algebra. Matrices are the last two axes; a matrix that has no result is an error of a wait.

NumPy computes decompositions, inverses and determinants on a thread of the library. det(), inv(), slogdet() and solve()
have gradients, as has what is a sum of products; the other ones have none.
"""
import math as _math
import operator as _operator
from typing import NamedTuple as _NamedTuple

from .. import _core
from .._computed import check_no_gradient as _check_no_gradient
from .._computed import computed as _computed
from .._computed import recorded as _recorded
from ._reductions import _in_type
from ._shapes import axes_of as _axes_of
from ._shapes import axis_of as _axis_of
from ._shapes import broadcast_arrays as _broadcast_arrays
from ._types import floating as _floating
from ._types import result_type as _result_type

_Tensor = _core.Tensor


def _check_matrices(name, x, square=False):
    if x.ndim < 2 or (square and x.shape[-1] != x.shape[-2]):
        raise ValueError(f"[{name}] takes {'square ' if square else ''}matrices, not {x.shape}")


def _pairs(x1, x2):
    """Two operands in the type of both."""
    dtype = _result_type(x1, x2)
    return x1.astype(dtype, copy=False), x2.astype(dtype, copy=False)


# --- Products.

def matmul(x1, x2, /):
    """The matrix product (..., N, K) (..., K, M) -> (..., N, M); a vector is a row on the left, a column on the right."""
    x1, x2 = _pairs(x1, x2)
    if x1.dtype.is_floating:
        return x1 @ x2
    if x1.ndim == 0 or x2.ndim == 0 or x1.shape[-1] != x2.shape[-2 if x2.ndim > 1 else 0]:
        raise ValueError(f"[matmul] inner dimensions differ: {x1.shape}, {x2.shape}")
    import numpy  # for integers the library has no kernel

    rows, columns = x1.shape[-2:-1], x2.shape[-1:] if x2.ndim > 1 else ()
    shape = numpy.broadcast_shapes(x1.shape[:-2], x2.shape[:-2]) + rows + columns
    return _computed("matmul", "matmul", [x1, x2], shape, x1.dtype)


def matrix_transpose(x, /):
    """The last two axes exchanged."""
    _check_matrices("matrix_transpose", x)
    return _core.swapaxes(x, -1, -2)


def outer(x1, x2, /):
    """The products of all elements of a vector with all of another one."""
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"[outer] takes vectors, not {x1.shape} and {x2.shape}")
    return _core.expand_dims(x1, 1) * x2


def tensordot(x1, x2, /, *, axes=2):
    """The sum of products over the last `axes` axes of x1 and the first of x2, or over a pair of lists of axes."""
    x1, x2 = _pairs(x1, x2)
    if not isinstance(axes, int):
        axes = [[of_one] if isinstance(of_one, int) else list(of_one) for of_one in axes]
    if x1.dtype.is_floating:
        within = "float32" if x1.dtype == "bfloat16" else x1.dtype  # which the native one does not take
        return _core.tensordot(x1.astype(within, copy=False), x2.astype(within, copy=False), axes).astype(x1.dtype, copy=False)
    import numpy  # for integers the library has no kernel

    if isinstance(axes, int):
        axes = range(x1.ndim - axes, x1.ndim), range(axes)
    of_1, of_2 = [_axis_of(axis, x1.ndim) for axis in axes[0]], [_axis_of(axis, x2.ndim) for axis in axes[1]]
    if [x1.shape[axis] for axis in of_1] != [x2.shape[axis] for axis in of_2]:
        raise ValueError(f"[tensordot] axes {of_1} of {x1.shape} and {of_2} of {x2.shape} differ")
    shape = [n for i, n in enumerate(x1.shape) if i not in of_1] + [n for i, n in enumerate(x2.shape) if i not in of_2]
    return _computed("tensordot", lambda a, b: numpy.tensordot(a, b, (of_1, of_2)), [x1, x2], shape, x1.dtype)


def vecdot(x1, x2, /, *, axis=-1):
    """The sums of products along an axis, which both have, of tensors that are broadcast otherwise."""
    if not -min(x1.ndim, x2.ndim) <= axis < 0 or x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"[vecdot] axis {axis}, which is counted from the end, of {x1.shape} and {x2.shape}")
    x1, x2 = _pairs(x1, x2)
    return _core.sum(x1 * x2, axis).astype(x1.dtype, copy=False)


def cross(x1, x2, /, *, axis=-1):
    """The vector products of vectors of 3 elements along an axis."""
    x1, x2 = _broadcast_arrays(*_pairs(x1, x2))
    axis = _axis_of(axis, x1.ndim)
    if x1.shape[axis] != 3:
        raise ValueError(f"[cross] takes vectors of 3 elements, not {x1.shape[axis]}")
    before = (slice(None),) * axis
    a, b = ([x[before + (i,)] for i in range(3)] for x in (x1, x2))
    return _core.stack([a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2] for i in range(3)], axis)


def matrix_power(x, n, /):
    """The product of n factors x, or of -n factors inv(x); the unit matrix for 0."""
    _check_matrices("matrix_power", x, square=True)
    n = _operator.index(n)
    if n == 1:
        return x.copy()
    if n < 0:
        x, n = inv(x), -n
    power = _core.broadcast_to(_core._eye(x.shape[-1], x.shape[-1], 0, x.dtype, x.device), x.shape) if n == 0 else None
    while n:
        if n % 2:
            power = x if power is None else power @ x
        n //= 2
        x = x @ x if n else x
    return power


# --- Diagonals and norms.

def diagonal(x, /, *, offset=0):
    """The elements x[..., i, i + offset]."""
    _check_matrices("diagonal", x)
    *rest, rows, columns = x.shape
    count = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    first = offset if offset >= 0 else -offset * columns
    places = _core.arange(count, device=x.device) * (columns + 1) + first
    return _core.take(_core.reshape(x, (*rest, rows * columns)), places, len(rest))


def trace(x, /, *, offset=0, dtype=None):
    """The sums of diagonals; of integers in int64."""
    x, dtype = _in_type(diagonal(x, offset=offset), dtype)
    return _core.sum(x, -1).astype(dtype, copy=False)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):  # noqa: A002
    """(sum of |x|^ord)^(1 / ord) of all elements or over axes; the extreme |x| for inf and -inf, for 0 how many are not 0."""
    x = _floating(x)
    axes = tuple(_axes_of(axis, x.ndim))
    if ord == 2:
        return _core.norm(x, axes, keepdims)
    size = _core.abs(x)
    if ord == _math.inf:
        return _core.max(size, axes, keepdims)
    if ord == -_math.inf:
        return _core.min(size, axes, keepdims)
    if ord == 0:
        return _core.sum(_core.not_equal(x, 0), axes, keepdims).astype(x.dtype)
    return _core.sum(size if ord == 1 else size ** ord, axes, keepdims) ** (1 / ord)


def matrix_norm(x, /, *, keepdims=False, ord="fro"):  # noqa: A002
    """The norms of matrices: "fro", "nuc", 1, -1, 2, -2, inf or -inf. Those of singular values have no gradient."""
    _check_matrices("matrix_norm", x)
    x = _floating(x)
    if ord == "fro":
        return _core.norm(x, (-2, -1), keepdims)
    if ord in ("nuc", 2, -2):
        values = svdvals(x)
        norms = {"nuc": _core.sum, 2: _core.max, -2: _core.min}[ord](values, -1)
    elif ord in (1, -1, _math.inf, -_math.inf):
        sums = _core.sum(_core.abs(x), -2 if ord in (1, -1) else -1)
        norms = (_core.max if ord > 0 else _core.min)(sums, -1)
    else:
        raise ValueError(f"[matrix_norm] ord is 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, not {ord!r}")
    return _core.reshape(norms, (*norms.shape, 1, 1)) if keepdims else norms


# --- By NumPy, with gradients.

def inv(x, /):
    """The inverses of matrices (..., N, N)."""
    _check_matrices("inv", x, square=True)
    x = _floating(x)
    y = _computed("inv", lambda a: _linalg().inv(a), [x], x.shape, x.dtype)
    return _recorded("inv", y, [x], [y], lambda dy, y: -(matrix_transpose(y) @ dy @ matrix_transpose(y)))


def det(x, /):
    """The determinants of matrices (..., N, N). The gradient is infinite or NaN for a singular one."""
    _check_matrices("det", x, square=True)
    x = _floating(x)
    y = _computed("det", lambda a: _linalg().det(a), [x], x.shape[:-2], x.dtype)

    def backward(dy, x, y):
        return _core.reshape(dy * y, (*y.shape, 1, 1)) * matrix_transpose(inv(x))

    return _recorded("det", y, [x], [x, y], backward)


def solve(x1, x2, /):
    """The x with x1 x = x2, of matrices x1 (..., N, N) and a vector (N) or matrices (..., N, K)."""
    _check_matrices("solve", x1, square=True)
    a, b = _pairs(_floating(x1), _floating(x2))
    is_vector = b.ndim == 1
    b = _core.expand_dims(b, 1) if is_vector else b
    if b.shape[-2] != a.shape[-1]:
        raise ValueError(f"[solve] {x1.shape} and {x2.shape} do not fit")
    import numpy

    batch = numpy.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (_core.broadcast_to(x, batch + x.shape[-2:]) for x in (a, b))
    x = _computed("solve", lambda a, b: _linalg().solve(a, b), [a, b], b.shape, b.dtype)

    def backward(dx, a, x):
        db = solve(matrix_transpose(a), dx)
        return [-(db @ matrix_transpose(x)), db]

    y = _recorded("solve", x, [a, b], [a, x], backward)
    return _core.squeeze(y, -1) if is_vector else y


# --- By NumPy, with several results: they are parts of one operation's, which has the type of all.

def _parts(name, function, x, *shapes):
    """The results of a function of NumPy of these shapes."""
    sizes = [_math.prod(shape) for shape in shapes]

    def joined(a):
        import numpy

        return numpy.concatenate([numpy.asarray(part).reshape(-1) for part in function(a)])

    flat = _computed(name, joined, [x.detach()], (sum(sizes),), x.dtype)
    ends = [sum(sizes[:i + 1]) for i in range(len(sizes))]
    return [_core.reshape(flat[end - size:end], shape) for size, end, shape in zip(sizes, ends, shapes)]


def _linalg():
    import numpy

    return numpy.linalg


def _one(name, function, x, shape):
    _check_no_gradient(name, x)
    return _computed(name, function, [x], shape, x.dtype)


class _Slogdet(_NamedTuple):
    sign: _Tensor
    logabsdet: _Tensor


class _Eigh(_NamedTuple):
    eigenvalues: _Tensor
    eigenvectors: _Tensor


class _Qr(_NamedTuple):
    Q: _Tensor
    R: _Tensor


class _Svd(_NamedTuple):
    U: _Tensor
    S: _Tensor
    Vh: _Tensor


def slogdet(x, /):
    """The signs of determinants, which have no gradient, and the logarithms of their absolute values, which have one."""
    _check_matrices("slogdet", x, square=True)
    x = _floating(x)
    sign, logarithm = _parts("slogdet", lambda a: _linalg().slogdet(a), x, x.shape[:-2], x.shape[:-2])

    def backward(dy, x):
        return _core.reshape(dy, (*dy.shape, 1, 1)) * matrix_transpose(inv(x))

    return _Slogdet(sign, _recorded("slogdet", logarithm, [x], [x], backward))


def cholesky(x, /, *, upper=False):
    """The lower triangular L with x = L L^T of positive definite matrices, or its transpose. Has no gradient."""
    _check_matrices("cholesky", x, square=True)
    x = _floating(x)
    lower = _one("cholesky", lambda a: _linalg().cholesky(a), x, x.shape)
    return matrix_transpose(lower) if upper else lower


def eigh(x, /):
    """The eigenvalues (..., N), ascending, and the eigenvectors, in columns, of symmetric matrices. Has no gradient."""
    _check_matrices("eigh", x, square=True)
    x = _floating(x)
    _check_no_gradient("eigh", x)
    return _Eigh(*_parts("eigh", lambda a: _linalg().eigh(a), x, x.shape[:-1], x.shape))


def eigvalsh(x, /):
    """The eigenvalues (..., N), ascending, of symmetric matrices. Has no gradient."""
    _check_matrices("eigvalsh", x, square=True)
    x = _floating(x)
    return _one("eigvalsh", lambda a: _linalg().eigvalsh(a), x, x.shape[:-1])


def qr(x, /, *, mode="reduced"):
    """Q (..., M, K) with orthonormal columns and the upper triangular R (..., K, N) with x = Q R. Has no gradient.

    K is the smaller of M and N, or M with mode="complete".
    """
    if mode not in ("reduced", "complete"):
        raise ValueError(f"[qr] mode is 'reduced' or 'complete', not {mode!r}")
    _check_matrices("qr", x)
    x = _floating(x)
    _check_no_gradient("qr", x)
    *batch, rows, columns = x.shape
    inner = min(rows, columns) if mode == "reduced" else rows
    return _Qr(*_parts("qr", lambda a: _linalg().qr(a, mode), x, (*batch, rows, inner), (*batch, inner, columns)))


def svd(x, /, *, full_matrices=True):
    """U, the singular values S (..., K), descending, and Vh with x = U diag(S) Vh. Has no gradient.

    U is (..., M, M) and Vh (..., N, N), or (..., M, K) and (..., K, N) without full_matrices, K the smaller of M and N.
    """
    _check_matrices("svd", x)
    x = _floating(x)
    _check_no_gradient("svd", x)
    *batch, rows, columns = x.shape
    inner = min(rows, columns)
    of_u, of_v = (rows, columns) if full_matrices else (inner, inner)
    return _Svd(*_parts("svd", lambda a: _linalg().svd(a, full_matrices), x,
                        (*batch, rows, of_u), (*batch, inner), (*batch, of_v, columns)))


def svdvals(x, /):
    """The singular values (..., K), descending, of matrices (..., M, N). Has no gradient."""
    _check_matrices("svdvals", x)
    x = _floating(x)
    shape = (*x.shape[:-2], min(x.shape[-2:]))
    return _one("svdvals", lambda a: _linalg().svd(a, compute_uv=False), x, shape)


def _significant(values, a, rtol):
    """Which singular values are greater than rtol times the largest, by default those that rounding does not make of 0."""
    import numpy

    rtol = max(a.shape[-2:]) * numpy.finfo(a.dtype).eps if rtol is None else rtol
    return values > values.max(-1, keepdims=True, initial=0) * numpy.asarray(rtol)[..., None]


def _with_tolerance(name, function, x, rtol, shape, dtype):
    """function(array, rtol), where rtol is None, a number or a tensor."""
    if isinstance(rtol, _Tensor):
        return _computed(name, function, [x, rtol], shape, dtype)
    return _computed(name, lambda a: function(a, rtol), [x], shape, dtype)


def matrix_rank(x, /, *, rtol=None):
    """How many singular values are greater than rtol times the largest, in int64."""
    _check_matrices("matrix_rank", x)

    def rank(a, rtol):
        return _significant(_linalg().svd(a, compute_uv=False), a, rtol).sum(-1)

    return _with_tolerance("matrix_rank", rank, _floating(x), rtol, x.shape[:-2], "int64")


def pinv(x, /, *, rtol=None):
    """The pseudo-inverses (..., N, M) of matrices (..., M, N), without the singular values up to rtol times the largest.

    Has no gradient.
    """
    _check_matrices("pinv", x)
    x = _floating(x)
    _check_no_gradient("pinv", x)

    def inverse(a, rtol):
        import numpy

        u, s, v = _linalg().svd(a, full_matrices=False)
        kept = _significant(s, a, rtol)
        s = numpy.where(kept, 1 / numpy.where(kept, s, 1), 0)
        return (v.swapaxes(-1, -2) * s[..., None, :]) @ u.swapaxes(-1, -2)

    return _with_tolerance("pinv", inverse, x, rtol, (*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)
