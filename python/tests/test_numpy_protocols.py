"""NumPy's functions on tensors."""
import numpy as np
import pytest

import asyncgrad as ag

A = np.array([[0.5, 2.0, 0.25], [1.0, 0.75, 3.0]], "float32")
B = np.array([2.0, 0.5, 1.0], "float32")


@pytest.mark.parametrize("function", [
    np.sin, np.exp, np.sqrt, np.abs, np.negative, np.rint, np.reciprocal, np.isnan, np.log1p, np.positive,
    lambda x: np.add(x, B), lambda x: np.subtract(B, x), lambda x: np.power(x, 2), lambda x: np.maximum(x, B), lambda x: np.hypot(B, x),
    lambda x: np.divide(B, x), lambda x: np.less(B, x), lambda x: np.greater_equal(x, B), lambda x: np.equal(B, x),
    lambda x: np.matmul(B[:2], x), lambda x: B + x, lambda x: B[:2] @ x, lambda x: np.float32(2) * x, lambda x: B > x, lambda x: B ** x,
    lambda x: np.logical_not(x > 1), lambda x: np.invert(x > 1), lambda x: np.bitwise_and(x > 1, A > 2), lambda x: (A > 2) | (x > 1),
    np.sum, np.mean, np.max, np.amin, np.var, np.argmax, np.any, np.cumsum, np.ravel, np.transpose, np.squeeze, np.tril,
    lambda x: np.sum(x, axis=1, keepdims=True), lambda x: np.mean(x, axis=0, dtype="float64"), lambda x: np.std(x, 1, ddof=1),
    lambda x: np.concatenate([x, A]), lambda x: np.concatenate((A, x), axis=1), lambda x: np.concatenate([x, x], axis=None),
    lambda x: np.stack([x, x], axis=-1), lambda x: np.where(x > 1, x, 0), lambda x: np.reshape(x, (3, 2)), lambda x: np.swapaxes(x, 0, 1),
    lambda x: np.expand_dims(x, 0), lambda x: np.flip(x, 1), lambda x: np.broadcast_to(x, (4, 2, 3)), lambda x: np.clip(x, 0.5, 2),
    lambda x: np.dot(x, B), lambda x: np.outer(x, B), lambda x: np.tile(x, 2), lambda x: np.repeat(x, 2, axis=0), lambda x: np.roll(x, 1),
    lambda x: np.roll(x, 1, axis=(0, 1)), lambda x: np.roll(x, (1, 2), axis=1), lambda x: np.roll(x, [1, 1], axis=[0, 1]), lambda x: np.roll(x, (1, 1)),
    lambda x: np.zeros_like(x), lambda x: np.full_like(x, 2), lambda x: np.moveaxis(x, 0, 1),
    np.ceil, np.trunc, np.arctan, np.tan, np.isinf, np.signbit, lambda x: np.arccos(x / 4), lambda x: np.arctan2(B, x), lambda x: np.arctan2(x, 2),
    lambda x: np.copysign(x, -B), lambda x: np.logaddexp(x, x), lambda x: np.nextafter(x, B), np.sort, np.argsort, np.prod, np.cumprod, np.diff,
    lambda x: np.prod(x, axis=1), lambda x: np.sort(x, axis=None), lambda x: np.argsort(x, axis=0), lambda x: np.cumprod(x, axis=0), lambda x: np.take(x, [1, 2]),
    lambda x: np.take(x, [1, -1], axis=1), lambda x: np.diff(x, axis=0), lambda x: np.tensordot(x, A, axes=2),
    lambda x: np.einsum("ij->j", x), lambda x: np.einsum("ij,j", x, B), lambda x: np.einsum("ij,kj->ik", A.astype("float64"), x),
    lambda x: np.searchsorted(B[1:], x), lambda x: np.left_shift((x > 1).astype("int64"), 2), np.linalg.norm, lambda x: np.linalg.norm(x, axis=1),
    lambda x: np.linalg.norm(x, None, 0), lambda x: np.linalg.norm(x, 2, 1), lambda x: np.linalg.norm(x[0], 2, keepdims=True),
    lambda x: np.sum(x, 0, None, None), lambda x: np.max(x, 0, None), lambda x: np.prod(x, 0, None, None, True), lambda x: np.std(x, 0, None, None, 1),
    lambda x: np.linalg.inv(x @ x.T), lambda x: np.linalg.solve(x @ x.T, A), lambda x: np.linalg.det(x @ x.T), np.linalg.pinv, lambda x: np.linalg.svd(x)[1]])
def test_functions_give_tensors(function):
    found, expected = function(ag.array(A)), function(A)
    assert type(found) is ag.Tensor and found.shape == expected.shape
    assert found.numpy().dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("function", [np.nonzero, np.linalg.slogdet, np.linalg.eigh, np.linalg.qr, lambda x: np.split(x, 2)])
def test_functions_give_several_tensors(function):
    square = A[:, :2] + A[:, :2].T
    found, expected = function(ag.array(square)), function(square)
    assert all(type(one) is ag.Tensor for one in found)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.abs(one.numpy()), np.abs(other), rtol=1e-5)  # the sign of a vector is free


@pytest.mark.parametrize("function", [
    np.cbrt, np.degrees, np.median, np.vstack, np.flipud, np.rot90, lambda x: np.sort(x, kind="stable"), lambda x: np.sum(x, initial=3), np.modf,
    lambda x: np.add.reduce(x), lambda x: np.exp(x, where=A > 1, out=np.zeros_like(A)), lambda x: np.linalg.norm(x, ord=1),
    lambda x: np.linalg.norm(x, 1), lambda x: np.linalg.norm(x[0], 0), lambda x: np.linalg.norm(x, -1, 1), lambda x: np.std(x, 0, np.float64),
    lambda x: np.clip(x, B, 2 * B), lambda x: np.repeat(x, [1, 2], axis=0), lambda x: np.expand_dims(x, (0, 2)),
    lambda x: np.concatenate([x, x], dtype="float64"), lambda x: np.where(x > 1), lambda x: np.take(x, [1, 2], mode="clip"), np.shape, np.ndim,
    lambda x: np.einsum("ij->j", x > 1), lambda x: np.einsum("ij->j", x, optimize=True), lambda x: np.einsum(x, [0, 1], [1, 0]),
    lambda x: np.einsum(x, [0, 1], A, [0, 1])])
def test_numpy_computes_the_rest(function):
    found, expected = function(ag.array(A)), function(A)
    assert type(found) is type(expected)
    for one, other in zip(*((found, expected) if isinstance(found, tuple) else ([found], [expected]))):
        np.testing.assert_array_equal(one, other)


def test_gradients_go_through_numpys_functions():
    x = ag.array(A).requires_grad_()
    np.sum(np.concatenate([np.sin(x) * B, np.square(x)])).backward()
    np.testing.assert_allclose(x.grad.numpy(), np.cos(A) * B + 2 * A, rtol=1e-6)
    for name, function in (("cbrt", np.cbrt), ("median", np.median), ("vstack", np.vstack), ("norm", lambda x: np.linalg.norm(x, ord=1))):
        with pytest.raises(TypeError, match=rf"numpy.{name} .* x.detach\(\)"):
            function(x)
        np.testing.assert_array_equal(function(x.detach()), function(A))
        with ag.no_grad():
            np.testing.assert_array_equal(function(x), function(A))
    assert np.shape(x) == A.shape and np.allclose(x, A) and np.array_equal(x, A)  # these have no gradient


@pytest.mark.parametrize("name", ["float64", "int64"])
def test_divmod(name):
    a, b = np.array([7, -7, 5, 0]).astype(name), np.array([2, 2, -3, 5]).astype(name)
    for call in (divmod, np.divmod):
        for x, y in ((ag.array(a), ag.array(b)), (ag.array(a), b), (a, ag.array(b)), (ag.array(a), 3), (3, ag.array(b)), (ag.array(a), 2.5)):
            expected = call(*(v.numpy() if isinstance(v, ag.Tensor) else v for v in (x, y)))
            found = call(x, y)
            assert isinstance(found, tuple) and all(isinstance(one, ag.Tensor) for one in found)
            assert [one.tolist() for one in found] == [one.tolist() for one in expected]
            assert [str(one.dtype) for one in found] == [str(one.dtype) for one in expected]
    with pytest.raises(TypeError, match="divmod"):
        divmod(ag.ones(2), "3")


def test_an_array_is_added_to_in_place():
    total = kept = A.copy()
    total += ag.array(A)
    assert total is kept
    np.testing.assert_array_equal(kept, A + A)


def test_numpy_does_not_write_into_tensors():
    x = ag.array(A)
    for write in (
            lambda: np.sin(A, out=x), lambda: np.add.at(x, [0], 1), lambda: np.copyto(x, 0), lambda: np.fill_diagonal(x, 0), lambda: np.put(x, [0], 9),
            lambda: np.place(x, A > 0, [9]), lambda: np.putmask(x, A > 0, 9), lambda: np.mean(A, axis=0, out=x[0]), lambda: np.nan_to_num(x / 0, copy=False)):
        with pytest.raises(TypeError):
            write()
    with pytest.raises(TypeError, match=r"numpy.copyto cannot write into a tensor.*x\[...\] = y"):
        np.copyto(x, 0)
    np.testing.assert_array_equal(x.numpy(), A)


def test_a_class_of_tensors_stays():
    mxnet = pytest.importorskip("asyncgrad.mxnet")
    x = mxnet.np.array(A)
    for found in (np.sin(x), np.mean(x, axis=0), np.concatenate([x, x]), A[0] * x):
        assert type(found) is mxnet.np.ndarray
