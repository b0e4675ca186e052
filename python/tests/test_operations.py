"""Every function against NumPy."""
import math
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import asyncgrad as ag

SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=1, max_side=4)
NUMBERS = st.floats(-8, 8, width=32)


def arrays(elements=NUMBERS, shape=SHAPES, dtype="float64"):
    return hnp.arrays(dtype, shape, elements=elements)


def close(x, expected, rtol=1e-9):
    values = np.asarray(x)
    assert values.shape == np.shape(expected)
    np.testing.assert_allclose(values, expected, rtol=rtol, atol=1e-9)


def erf(x):
    return np.vectorize(math.erf, otypes=["float64"])(x)


UNARY = {
    "relu": lambda x: np.maximum(x, 0), "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "tanh": np.tanh, "exp": np.exp,
    "square": np.square, "abs": np.abs, "sin": np.sin, "cos": np.cos, "erf": erf, "expm1": np.expm1,
    "silu": lambda x: x / (1 + np.exp(-x)), "softplus": lambda x: np.logaddexp(x, 0), "floor": np.floor,
    "round": np.round, "sign": np.sign, "gelu": lambda x: x * (1 + erf(x / math.sqrt(2))) / 2,
    "gelu_tanh": lambda x: x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))) / 2,
}
POSITIVE = {"log": np.log, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "log1p": np.log1p}


@pytest.mark.parametrize("name", UNARY)
@given(x=arrays())
@settings(max_examples=20, deadline=None)
def test_unary(name, x):
    close(getattr(ag, name)(ag.array(x)), UNARY[name](x))
    close(getattr(ag.array(x), name)(), UNARY[name](x))


@pytest.mark.parametrize("name", POSITIVE)
@given(x=arrays(st.floats(0.125, 8, width=32)))
@settings(max_examples=20, deadline=None)
def test_positive(name, x):
    close(getattr(ag, name)(ag.array(x)), POSITIVE[name](x))


OPERATORS = {
    "add": lambda x, y: x + y, "subtract": lambda x, y: x - y, "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y, "floor_divide": lambda x, y: x // y, "modulo": lambda x, y: x % y,
    "power": lambda x, y: abs(x) ** y, "less": lambda x, y: x < y, "greater": lambda x, y: x > y,
    "less_equal": lambda x, y: x <= y, "greater_equal": lambda x, y: x >= y, "equal": lambda x, y: x == y,
    "not_equal": lambda x, y: x != y,
}


@pytest.mark.parametrize("name", OPERATORS)
@given(shapes=hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=3), data=st.data())
@settings(max_examples=25, deadline=None)
def test_operators(name, shapes, data):
    nonzero = st.sampled_from([-3.0, -1.5, -1.0, -0.5, 0.5, 1.0, 2.0, 2.5])
    x = data.draw(arrays(nonzero, shapes.input_shapes[0]))
    y = data.draw(arrays(nonzero, shapes.input_shapes[1]))
    function = OPERATORS[name]
    expected = function(x, y).astype("float64")
    a, b = ag.array(x), ag.array(y)
    close(function(a, b), expected)
    close(function(a, y), expected)
    close(function(x, b), expected)
    close(function(a, 2), function(x, 2).astype("float64"))
    close(function(a, 0.5), function(x, 0.5).astype("float64"))
    close(function(2.5, b), np.asarray(function(2.5, y)).astype("float64"))


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "var", "std", "argmax", "argmin", "cumsum"])
@given(x=arrays(shape=hnp.array_shapes(min_dims=1, max_dims=4, max_side=4)), data=st.data())
@settings(max_examples=25, deadline=None)
def test_reductions(name, x, data):
    function = getattr(np, name)
    close(getattr(ag, name)(ag.array(x)), function(x), 1e-7)
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    close(getattr(ag.array(x), name)(axis), function(x, axis), 1e-7)
    if name in ("sum", "mean", "max", "min", "var", "std"):
        axes = tuple(data.draw(st.sets(st.integers(0, x.ndim - 1), min_size=1)))
        close(getattr(ag.array(x), name)(axis=axes, keepdims=True), function(x, axis=axes, keepdims=True), 1e-7)
        close(getattr(ag, name)(ag.array(x), axis=axes), function(x, axis=axes), 1e-7)


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (1, 2)])
def test_prod(axis):
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    x[0, 1, 2] = 0
    close(ag.prod(ag.array(x), axis), x.prod(axis), 1e-12)
    close(ag.array(x).prod(axis=axis, keepdims=True), x.prod(axis, keepdims=True), 1e-12)
    small = ag.array(np.arange(1, 5, dtype="uint8"))
    assert small.prod().item() == 24 and small.prod().dtype == ag.int64


@pytest.mark.parametrize("equation, shapes", [
    ("ij,jk->ik", [(2, 3), (3, 4)]), ("...ij,...jk", [(5, 1, 2, 3), (2, 3, 4)]), ("ii->i", [(3, 3)]), ("iij,jk->k", [(2, 2, 3), (3, 4)]),
    ("i,j,ij->", [(2,), (3,), (2, 3)]), ("bhqd,bkhd->bhqk", [(2, 3, 4, 5), (2, 6, 3, 5)]), ("ba", [(2, 3)]), ("i...->...", [(2, 3, 4)]),
    (" ab , bc,cd -> da", [(2, 3), (3, 4), (4, 2)]), (",ij", [(), (2, 3)]),
])
def test_einsum(equation, shapes):
    arrays = [np.random.default_rng(i).normal(size=shape) for i, shape in enumerate(shapes)]
    close(ag.einsum(equation, *(ag.array(x) for x in arrays)), np.einsum(equation, *arrays), 1e-12)


@pytest.mark.parametrize("equation, operands, error", [
    ("ij", (), ValueError), ("", (), ValueError), ("ij", (1.0,), ValueError), ("ij", (None,), TypeError),
    ("ij\u00e9->i", (np.ones((2, 3, 4)),), ValueError), ("i\0->i", (np.ones((2, 3)),), ValueError),
])
def test_einsum_refuses(equation, operands, error):
    with pytest.raises(error, match="."):
        ag.einsum(equation, *operands)


def test_einsum_of_numbers_and_arrays():
    assert ag.einsum(",", 2.0, 3.0).item() == 6
    close(ag.einsum("ij->j", np.ones((2, 3))), [2, 2, 2], 0)


def test_tensordot():
    x, y = np.random.default_rng(1).normal(size=(2, 3, 4)), np.random.default_rng(2).normal(size=(3, 4, 2))
    for axes in (2, 0, ([0, 1], [2, 0]), (2, 1), ((), ())):
        close(ag.tensordot(ag.array(x), ag.array(y), axes), np.tensordot(x, y, axes), 1e-12)
    with pytest.raises(TypeError, match="pair"):
        ag.tensordot(ag.array(x), ag.array(y), [1, 2, 3])


@given(x=arrays(shape=(2, 3, 4)))
@settings(max_examples=10, deadline=None)
def test_shapes(x):
    a = ag.array(x)
    close(a.reshape(4, -1), x.reshape(4, -1))
    close(a.reshape((6, 4)), x.reshape(6, 4))
    close(a.T, x.T)
    close(a.transpose(1, 2, 0), x.transpose(1, 2, 0))
    close(ag.transpose(a, (2, 0, 1)), np.transpose(x, (2, 0, 1)))
    close(a.swapaxes(0, 2), x.swapaxes(0, 2))
    close(ag.flip(a, (0, 2)), np.flip(x, (0, 2)))
    close(ag.flip(a), np.flip(x))
    close(ag.tile(a, (2, 1, 2)), np.tile(x, (2, 1, 2)))
    close(ag.pad(a, ((1, 0), (0, 2), (1, 1)), 3), np.pad(x, ((1, 0), (0, 2), (1, 1)), constant_values=3))
    close(ag.concatenate([a, a], 1), np.concatenate([x, x], 1))
    close(ag.stack([a, a], -1), np.stack([x, x], -1))
    close(ag.expand_dims(a, 1).squeeze(), x)
    close(ag.broadcast_to(a[0], (5, 3, 4)), np.broadcast_to(x[0], (5, 3, 4)))
    for repeats, axis in ((2, 1), (3, -1), (1, 0), (0, 2), (2, None)):
        close(ag.repeat(a, repeats, axis), np.repeat(x, repeats, axis))
    close(ag.roll(a, 2, 2), np.roll(x, 2, 2))
    close(ag.clip(a, -1, 2), np.clip(x, -1, 2))
    close(ag.clip(a, min=0), np.clip(x, 0, None))
    close(ag.where(a > 0, a, -1), np.where(x > 0, x, -1))
    for part, expected in zip(ag.split(a, 2, 2), np.split(x, 2, 2)):
        close(part, expected)
    for places in ([1, 3], [-2], [1, 100], []):
        for part, expected in zip(ag.split(a, places, 2), np.split(x, places, 2), strict=True):
            close(part, expected)
    close(ag.tril(a, 1), np.tril(x, 1))
    close(ag.triu(a), np.triu(x))
    close(ag.take_along_axis(a, ag.array(np.argsort(x, 1)), 1), np.sort(x, 1))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64", "float32", "float64"])
def test_where_has_the_type_of_its_values(dtype):
    x, y = np.array([3, 0, 1], dtype), np.array([[0], [2]], dtype)
    chosen = ag.where([True, False, True], ag.array(x), ag.array(y))
    assert chosen.dtype == dtype
    close(chosen, np.where([True, False, True], x, y))


@given(shapes=hnp.mutually_broadcastable_shapes(signature=np.matmul.signature, max_dims=2, max_side=4), data=st.data())
@settings(max_examples=40, deadline=None)
def test_matmul(shapes, data):
    x, y = (data.draw(arrays(shape=shape)) for shape in shapes.input_shapes)
    close(ag.array(x) @ ag.array(y), x @ y, 1e-6)
    close(ag.matmul(ag.array(x), ag.array(y)), x @ y, 1e-6)


@pytest.mark.parametrize("shapes", [((3,), (3,)), ((2, 3), (3, 4)), ((2, 3), (3,)), ((2, 3, 4), (4, 5)), ((2, 3), (5, 3, 4)), ((), (2,))])
def test_dot(shapes):
    x, y = (np.random.default_rng(1).normal(size=shape) for shape in shapes)
    close(ag.dot(ag.array(x), ag.array(y)), np.dot(x, y))


def test_creation():
    close(ag.zeros(2, 3), np.zeros((2, 3)))
    close(ag.ones((2, 3), dtype="int64"), np.ones((2, 3)))
    close(ag.full((2,), 7.5), np.full(2, 7.5))
    close(ag.arange(3), np.arange(3))
    close(ag.arange(1, 2, 0.25), np.arange(1, 2, 0.25))
    close(ag.eye(3, 4, 1), np.eye(3, 4, 1))
    close(ag.linspace(0, 1, 5), np.linspace(0, 1, 5))
    for grid, expected in zip(ag.meshgrid(ag.arange(2), ag.arange(3)), np.meshgrid(np.arange(2), np.arange(3))):
        close(grid, expected)
    x = ag.ones((2, 3), dtype="float64")
    for like, expected in ((ag.zeros_like(x), 0), (ag.ones_like(x), 1), (ag.full_like(x, 7), 7)):
        close(like, np.full((2, 3), expected))
        assert like.dtype == ag.float64
    assert [made(x, dtype="int64").dtype for made in (ag.zeros_like, ag.ones_like)] == [ag.int64] * 2
    assert ag.full_like(x, 7, "uint8").dtype == ag.uint8
    for made in (ag.rand_like, ag.randn_like):
        close(made(x, generator=ag.Generator(3)), made(x, generator=ag.Generator(3)))
        assert made(x).dtype == ag.float64 and not ag.array_equal(made(x), made(x))
    close(ag.one_hot(indices=ag.array([2, 0]), classes=3), np.eye(3)[[2, 0]])
    close(ag.array([2, 0]).one_hot(3), np.eye(3)[[2, 0]])
    assert ag.zeros(2).dtype == ag.float32 == np.float32 and ag.arange(3).dtype == "int64"
    assert ag.array([1.5]).dtype == ag.float32 and ag.array(np.ones(2)).dtype == ag.float64
    assert ag.array(3).shape == () and ag.array([[1, 2]]).dtype == ag.int64


def test_random_numbers():
    ag.manual_seed(7)
    x = ag.randn(100, 100)
    ag.manual_seed(7)
    assert ag.array_equal(x, ag.randn(100, 100))
    values = np.asarray(ag.rand(10000))
    assert values.min() > 0 and values.max() <= 1 and abs(values.mean() - 0.5) < 0.02


@pytest.mark.parametrize("a", ["float32", "float64", "int64"])
@pytest.mark.parametrize("b", ["float32", "float64", "int64"])
def test_promotion(a, b):
    assert (ag.ones(2, dtype=a) + ag.ones(2, dtype=b)).dtype == np.promote_types(a, b)
    assert (ag.ones(2, dtype=a) / ag.ones(2, dtype=b)).dtype == np.true_divide(np.ones(1, a), np.ones(1, b)).dtype
    assert (ag.ones(2, dtype=a) + 1).dtype == a
    assert (ag.ones(2, dtype=a) * 0.5).dtype == (np.ones(2, a) * 0.5).dtype


def test_results_that_change_nothing_share_nothing():
    for function in (lambda x: +x, lambda x: ag.roll(x, 0), lambda x: ag.roll(x, 3)):
        x = ag.arange(3)
        y = function(x)
        y += 1
        assert x.tolist() == [0, 1, 2] and y.tolist() == [1, 2, 3]


def test_extremes_keep_axes():
    x = np.array([[1.0, 5], [7, 2]])
    for name in ("argmax", "argmin"):
        for axis in (None, 0, -1):
            found = getattr(ag, name)(ag.array(x), axis, keepdims=True)
            close(found, getattr(np, name)(x, axis, keepdims=True))


def test_roll_of_several_axes():
    x = np.arange(12).reshape(3, 4)
    close(ag.roll(ag.array(x), (1, -2), (0, 1)), np.roll(x, (1, -2), (0, 1)))


def test_operands_are_made_where_the_other_one_is():
    done = subprocess.run([sys.executable, "-c", textwrap.dedent("""
        import asyncgrad as ag, numpy as np
        ag.set_engine_options(cpu_parts=2)
        x = ag.ones(2, device="cpu:1")
        for y in (x + np.ones(2, "float32"), [1.0, 1.0] + x, ag.maximum(2, x), ag.maximum(x, np.full(2, 2, "float32"))):
            assert y.device == "cpu:1" and y.tolist() == [2, 2], y
        assert ag.logical_and(x, 1).tolist() == [True, True]
        x += [1, 1]
        x[0] = np.array(3.0)
        w = ag.full((2,), 5.0, device="cpu:1").requires_grad_()
        y = x.clone()
        y[[1, 0]] = w
        y.sum().backward()
        print(x.tolist(), y.tolist(), w.grad.tolist())
        """)], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[3.0, 2.0] [5.0, 5.0] [1.0, 1.0]", done.stderr


def test_in_place():
    x = ag.array([1.0, 2.0])
    y = x
    x += 1
    x *= ag.array([2.0, 3.0])
    x -= np.float32(1)
    x /= 2
    assert y.tolist() == [1.5, 4.0]
    assert x.copy_([5.0, 6.0]).tolist() == [5, 6] and x.fill_(2).tolist() == [2, 2]


def test_gradients():
    x = ag.array([1.0, 2.0, 3.0]).requires_grad_()
    (x * x).sum().backward()
    assert x.grad.tolist() == [2, 4, 6]
    x.grad = None
    assert x.grad is None
    (x * x).backward(ag.array([1.0, 0.0, 2.0]))
    assert x.grad.tolist() == [2, 0, 12]
    with ag.no_grad():
        assert not (x * 2).requires_grad
        x += 1

    @ag.no_grad()
    def unrecorded():
        return (x * 2).requires_grad

    assert not unrecorded() and (x * 2).requires_grad and not x.detach().requires_grad


def test_gradients_of_indices():
    x = ag.ones(3, 4).requires_grad_()
    (x[[0, 2, 0]] * 2).sum().backward()
    assert x.grad.tolist() == [[4] * 4, [0] * 4, [2] * 4]


def test_numbers_and_text():
    x = ag.array([[3.0, 3.0]])
    assert repr(x) == "array([[3., 3.]])" and str(x) == "[[3. 3.]]"
    assert repr(ag.array([1, 2])) == "array([1, 2])"
    assert repr(ag.ones(1, dtype="float64")) == "array([1.], dtype=float64)"
    assert f"{ag.array(2.5):.3f}" == "2.500" and float(ag.array(2.5)) == 2.5 and int(ag.array([2.5])) == 2
    assert bool(ag.array(1)) and not ag.zeros(1) and [10, 20][ag.array(1)] == 20
    assert isinstance(ag.array(3).item(), int) and len(x) == 1 and x.size == 2 and x.ndim == 2 and x.nbytes == 8
    assert [row.tolist() for row in ag.arange(4).reshape(2, 2)] == [[0, 1], [2, 3]]


@pytest.mark.parametrize("copied", [
    lambda x: x.T, lambda x: x.transpose(), lambda x: ag.swapaxes(x, 0, 0), lambda x: x.sum(axis=()), lambda x: x.max(axis=()),
    lambda x: x.to("float32", copy=True), lambda x: x.logsumexp(axis=())])
def test_what_gives_a_copy_shares_nothing(copied):
    x = ag.ones(2)
    y = copied(x)
    y += 1
    assert x.tolist() == [1, 1] and y.tolist() == [2, 2]


def test_reductions_over_no_axes():
    x = ag.array([-3.0, 4.0])
    assert ag.norm(x, axis=()).tolist() == [3, 4] and ag.norm(ag.array(-3.0), axis=()).item() == 3
    y = ag.sum(x > 0, axis=())
    assert y.dtype == ag.int64 and y.tolist() == [0, 1]


def test_arithmetic_of_lists():
    assert ag.add([1.0, 2.0], [3.0, 4.0]).tolist() == [4, 6] and ag.multiply([1, 2], 2).tolist() == [2, 4]
    assert ag.subtract([1], [2]).tolist() == [-1] and ag.divide([1.0], [2.0]).tolist() == [0.5] and ag.negative([1, -2]).tolist() == [-1, 2]
    assert ag.add([1, 2], ag.ones(2)).tolist() == [2, 3] and ag.multiply(2, ag.ones(2)).tolist() == [2, 2]


def test_a_tuple_is_an_operand_as_a_list_is():
    x = ag.array([1, 2])
    assert (x == (1, 3)).tolist() == [True, False] and (x + (1, 2)).tolist() == [2, 4] and ((1, 2) + x).tolist() == [2, 4]


def test_shifts_in_place():
    x = ag.array([1, 2])
    y = x
    x <<= 2
    assert y is x and y.tolist() == [4, 8]
    x >>= 1
    assert y.tolist() == [2, 4]


def test_places_of_split():
    x = ag.arange(4)
    assert [part.tolist() for part in ag.split(x, np.int64(2))] == [[0, 1], [2, 3]]
    assert [part.tolist() for part in ag.split(x, np.array([1, 3]))] == [[0], [1, 2], [3]]
    with pytest.raises(ValueError, match="split: places follow one another, and 1 does not"):
        ag.split(x, [3, 1])


def test_a_tensor_backwards():
    assert [row.tolist() for row in reversed(ag.array([[1, 2], [3, 4]]))] == [[3, 4], [1, 2]]
    with pytest.raises(TypeError, match="without axes"):
        reversed(ag.array(1.0))


def test_update_running_takes_tensors_alone():
    running = ag.zeros(2)
    ag.nn.update_running(running, 0.5, ag.ones(2), 0.25)
    assert running.tolist() == [0.25, 0.25]
    with pytest.raises(TypeError, match="a tensor is asked for"):
        ag.nn.update_running(np.zeros(2, "float32"), 0.5, ag.ones(2), 0.25)


@pytest.mark.parametrize("use", [
    lambda x, w: x * [w, w * 2], lambda x, w: x + (w, 3), lambda x, w: ag.array([w, w]), lambda x, w: ag.array([[w, 1], [2, w]]),
    lambda x, w: ag.where(x > 0, [w, w], 0.0), lambda x, w: ag.maximum(x - 5, [w, 1.0]), lambda x, w: ag.leaky_relu(-x, w),
    lambda x, w: ag.elu(-x, w), lambda x, w: ag.huber(x * 9, w), lambda x, w: assigned(x, slice(0, 2), [w, w]),
    lambda x, w: assigned(x, [0, 1], [w, 1.0]),
])
def test_lists_and_numbers_keep_the_gradients_of_tensors(use):
    x, w = ag.ones(2).requires_grad_(), ag.array(2.0).requires_grad_()
    y = use(x, w)
    assert y.requires_grad
    (gradient,) = ag.grad(y.sum(), [w])
    step = 1e-3
    with ag.no_grad():
        difference = (use(x, w + step).sum() - use(x, w - step).sum()).item() / (2 * step)
    assert gradient.item() == pytest.approx(difference, rel=1e-2)


def assigned(x, key, value):
    y = x * 1
    y[key] = value
    return y


def test_results_of_operations_are_written_in_place():
    w = ag.ones(2, 2).requires_grad_()
    x = w * 1
    x[:, 0] *= 2
    x[[0, 1]] *= 3
    x[..., 1] += 1
    y = x @ ag.ones(2)
    y += 1
    z = ag.roll(x.T.flatten(), 1)
    z *= 2
    (y.sum() + z.sum()).backward()
    assert w.grad.tolist() == [[18, 9], [18, 9]]
    with pytest.raises(ValueError, match="shares its storage"):
        x[0] *= 2


@pytest.mark.parametrize("call", [
    lambda x: np.sum(x, dtype="uint8"), lambda x: np.sum(x, dtype="int32"), lambda x: np.sum(x, dtype="bool"),
    lambda x: np.mean(x, dtype="float32"), lambda x: np.sum(x, dtype="float64"),
])
def test_sums_have_the_type_that_is_asked_for(call):
    values = np.full(300, 200, "uint8")
    ours, expected = call(ag.array(values)), call(values)
    assert str(ours.dtype) == str(expected.dtype) and ours.item() == expected.item()


def test_tensordot_of_single_axes():
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(4, 3)
    np.testing.assert_allclose(np.asarray(np.tensordot(ag.array(a), ag.array(b), axes=(1, 1))), np.tensordot(a, b, axes=(1, 1)))


def test_atan2_has_a_gradient_of_0_at_the_origin():
    x, y = ag.zeros(2).requires_grad_(), ag.array([0.0, 1.0]).requires_grad_()
    np.arctan2(y, x).sum().backward()
    assert x.grad.tolist() == [0, -1] and y.grad.tolist() == [0, 0]


def test_cosine_loss_takes_labels_that_are_integers():
    x, y = ag.randn(4, 3), ag.randn(4, 3)
    labels = np.array([1, -1, 1, -1])
    assert ag.nn.cosine_loss(x, y, ag.array(labels)).tolist() == ag.nn.cosine_loss(x, y, ag.array(labels.astype("float32"))).tolist()


def test_bools_are_stored_as_0_and_1():
    other = np.array([0, 1, 255], "uint8").view(bool)
    with pytest.raises(ValueError, match="one is 255"):
        ag.from_numpy(other)
    with pytest.raises(ValueError, match="one is 255"):
        ag.from_dlpack(other)
    assert ag.array(other).tolist() == [False, True, True]
