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
    lambda x: np.zeros_like(x), lambda x: np.full_like(x, 2), lambda x: np.moveaxis(x, 0, 1)])
def test_functions_give_tensors(function):
    found, expected = function(ag.array(A)), function(A)
    assert type(found) is ag.Tensor and found.shape == expected.shape
    assert found.numpy().dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("function", [
    np.ceil, np.arctan, np.median, np.sort, np.vstack, np.flipud, np.rot90, lambda x: np.einsum("ij->j", x), lambda x: np.sum(x, initial=3), np.prod, np.modf,
    lambda x: np.add.reduce(x), lambda x: np.exp(x, where=A > 1, out=np.zeros_like(A)), lambda x: np.linalg.norm(x),
    lambda x: np.concatenate([x, x], dtype="float64"), lambda x: np.where(x > 1), lambda x: np.take(x, [1, 2]), np.shape, np.ndim])
def test_numpy_computes_the_rest(function):
    found, expected = function(ag.array(A)), function(A)
    assert type(found) is type(expected)
    for one, other in zip(*((found, expected) if isinstance(found, tuple) else ([found], [expected]))):
        np.testing.assert_array_equal(one, other)


def test_gradients_go_through_numpys_functions():
    x = ag.array(A).requires_grad_()
    np.sum(np.concatenate([np.sin(x) * B, np.square(x)])).backward()
    np.testing.assert_allclose(x.grad.numpy(), np.cos(A) * B + 2 * A, rtol=1e-6)
    with pytest.raises(TypeError, match=r"numpy.ceil .* x.detach\(\)"):
        np.ceil(x)
    np.testing.assert_array_equal(np.ceil(x.detach()), np.ceil(A))
    with ag.no_grad():
        np.testing.assert_array_equal(np.ceil(x), np.ceil(A))


def test_an_array_is_added_to_in_place():
    total = kept = A.copy()
    total += ag.array(A)
    assert total is kept
    np.testing.assert_array_equal(kept, A + A)


def test_numpy_does_not_write_into_tensors():
    x = ag.array(A)
    for write in (lambda: np.sin(A, out=x), lambda: np.add.at(x, [0], 1)):
        with pytest.raises(TypeError):
            write()
    np.testing.assert_array_equal(x.numpy(), A)


def test_a_class_of_tensors_stays():
    mxnet = pytest.importorskip("asyncgrad.mxnet")
    x = mxnet.np.array(A)
    for found in (np.sin(x), np.mean(x, axis=0), np.concatenate([x, x]), A[0] * x):
        assert type(found) is mxnet.np.ndarray
