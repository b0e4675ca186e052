"""mxnet.np.linalg. What NumPy computes here waits for its input; inv, det and solve have gradients, the rest has none."""
import numpy as _np

import asyncgrad as _ag

from . import autograd as _autograd
from .multiarray import computed as _computed
from .multiarray import owned as _owned
from .multiarray import wrapped as _wrapped
from .np_fallback import fallback as _fallback


def _euclidean(x, axis, keepdims):
    """sqrt(sum(x^2)), of x divided by a power of 2 near its largest element, so that no square overflows."""
    if x.size == 0 or not x.dtype.is_floating:
        return _ag.norm(x, axis, keepdims)
    exponent = _ag.round(_ag.log2(_ag.abs(x.detach()).max(axis=axis, keepdims=True)))
    scale = 2.0 ** _ag.clip(_ag.where(_ag.isfinite(exponent), exponent, 0.0), -120, 120)
    y = _ag.norm(x / scale, axis, True) * scale
    return y if keepdims else _owned(_ag.squeeze(y, axis))


def norm(x, ord=None, axis=None, keepdims=False):
    """sqrt(sum(x^2)) of all elements or over axes.

    ord="fro" is that of matrices, which are the last two axes without `axis`, and ord=1 the largest sum of |x| in
    a column of theirs. Over one axis ord=1 is the sum of |x|, and ord=2 the same as None.
    """
    if axis is None and ord is not None and x.ndim > 1:
        axis = (-2, -1)
    is_matrix = isinstance(axis, (tuple, list)) and len(axis) == 2
    if ord in (None, "fro") or (ord == 2 and not is_matrix):
        return _euclidean(x, axis, keepdims)
    if ord != 1:
        raise NotImplementedError(f"np.linalg.norm(ord={ord!r}) of {'matrices' if is_matrix else 'vectors'}")
    if not is_matrix:
        return _ag.abs(x).sum(axis=axis, keepdims=keepdims)
    largest = _ag.abs(x).sum(axis=axis[0], keepdims=True).max(axis=axis[1], keepdims=True)
    return largest if keepdims else _owned(_ag.squeeze(largest, tuple(axis)))


def _floating(x):
    return x if x.dtype.is_floating else x.astype("float32")


def _transposed(x):
    return _ag.swapaxes(x, -1, -2)


class _Inverse(_autograd.Function):
    def forward(self, a):
        y = _computed(_np.linalg.inv(_np.asarray(a)), a)
        self.save_for_backward(y)
        return y

    def backward(self, dy):
        y, = self.saved_tensors
        return -(_transposed(y) @ dy @ _transposed(y))


def inv(a):
    """The inverses of matrices (..., N, N). Waits for the values; a singular matrix raises LinAlgError."""
    return _Inverse()(_floating(a))


class _Determinant(_autograd.Function):
    def forward(self, a):
        y = _computed(_np.linalg.det(_np.asarray(a)), a)
        self.save_for_backward(a, y)
        return y

    def backward(self, dy):
        a, y = self.saved_tensors
        return _ag.reshape(dy * y, (*y.shape, 1, 1)) * _transposed(inv(a))


def det(a):
    """The determinants of matrices (..., N, N). Waits for the values."""
    return _Determinant()(_floating(a))


def solve(a, b):
    """x with a x = b: a (..., N, N), b (N) or (..., N, K). Waits for the values."""
    if b.ndim == 1:
        return _owned(_ag.squeeze(inv(a) @ _ag.expand_dims(b, 1), -1))
    return inv(a) @ b


def _without_gradient(name, x, *results):
    if _autograd.is_recording() and x.requires_grad:
        raise NotImplementedError(f"np.linalg.{name} has no gradient")
    arrays = tuple(_computed(values, x) for values in results)
    return arrays[0] if len(arrays) == 1 else arrays


def slogdet(a):
    """The signs of determinants and the logarithms of their absolute values. Waits for the values."""
    return _without_gradient("slogdet", a, *_np.linalg.slogdet(_np.asarray(_floating(a))))


def cholesky(a):
    """The lower triangular L with a = L L^T, of positive definite matrices (..., N, N). Waits for the values."""
    return _without_gradient("cholesky", a, _np.linalg.cholesky(_np.asarray(_floating(a))))


def _real(name, values):
    """Without their imaginary parts, which are 0: newer versions of NumPy give complex numbers in any case."""
    if _np.any(_np.imag(values) != 0):
        raise NotImplementedError(f"np.linalg.{name} of a matrix whose eigenvalues are complex")
    return _np.real(values)


def eig(a):
    """The eigenvalues (..., N) and eigenvectors (..., N, N), in columns, of matrices. Waits for the values."""
    values, vectors = _np.linalg.eig(_np.asarray(_floating(a)))
    return _without_gradient("eig", a, _real("eig", values), _np.real(vectors))


def eigvals(a):
    """The eigenvalues (..., N) of matrices (..., N, N). Waits for the values."""
    return _without_gradient("eigvals", a, _real("eigvals", _np.linalg.eigvals(_np.asarray(_floating(a)))))


def eigh(a, UPLO="L"):
    """The ascending eigenvalues and the eigenvectors of symmetric matrices. Waits for the values."""
    return _without_gradient("eigh", a, *_np.linalg.eigh(_np.asarray(_floating(a)), UPLO))


def eigvalsh(a, UPLO="L"):
    """The ascending eigenvalues of symmetric matrices. Waits for the values."""
    return _without_gradient("eigvalsh", a, _np.linalg.eigvalsh(_np.asarray(_floating(a)), UPLO))


def pinv(a, rcond=1e-15, hermitian=False):
    """The pseudo-inverses of matrices (..., M, N) -> (..., N, M). Waits for the values."""
    return _without_gradient("pinv", a, _np.linalg.pinv(_np.asarray(_floating(a)), rcond, hermitian))


def matrix_rank(A, tol=None, hermitian=False):
    """The rank of a matrix as a number, those of several as int64. Waits for the values."""
    ranks = _np.linalg.matrix_rank(_np.asarray(A), tol, hermitian)
    return int(ranks) if _np.ndim(ranks) == 0 else _wrapped(_ag.array(ranks, "int64", A.device))


def svd(a):
    """u (..., M, M), the singular values (..., M) and v (..., M, N) with a = u diag(values) v, for M <= N. Waits."""
    if a.shape[-2] > a.shape[-1]:
        raise ValueError(f"np.linalg.svd takes matrices that are not higher than wide, not {a.shape}")
    return _without_gradient("svd", a, *_np.linalg.svd(_np.asarray(_floating(a)), full_matrices=False))


def tensorinv(a, ind=2):
    """The inverse of the linear map whose result has the first `ind` axes of a. Waits for the values."""
    return _without_gradient("tensorinv", a, _np.linalg.tensorinv(_np.asarray(_floating(a)), ind))


def tensorsolve(a, b, axes=None):
    """x with tensordot(a, x, x.ndim) = b. Waits for the values."""
    return _without_gradient("tensorsolve", a, _np.linalg.tensorsolve(_np.asarray(_floating(a)), _np.asarray(b), axes))


for _name in ("cond", "lstsq", "matrix_power", "multi_dot", "qr"):
    globals()[_name] = _fallback(f"linalg.{_name}", getattr(_np.linalg, _name))
