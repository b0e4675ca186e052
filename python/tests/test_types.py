"""Element types: bool, integers, bfloat16; what NumPy and DLPack make of them; logic and random choices."""
import operator
import pickle

import numpy as np
import pytest

import asyncgrad as ag

SHARED = ["float32", "float64", "int64", "int32", "uint8", "bool"]


@pytest.mark.parametrize("name", SHARED)
def test_numpy_both_ways(name):
    a = np.array([[0, 1, 1], [1, 0, 1]]).astype(name)
    x = ag.array(a)
    assert x.dtype == name == getattr(ag, name) and x.itemsize == a.itemsize
    for back in (np.asarray(x), np.from_dlpack(x), np.array(x), np.asarray(memoryview(x))):
        assert back.dtype == a.dtype
        np.testing.assert_array_equal(back, a)
    for shared in (ag.from_numpy(a), ag.from_dlpack(a)):
        assert shared.dtype == name and np.shares_memory(np.asarray(shared), a)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(x)).numpy(), a)
    assert ag.zeros(2, dtype=name).dtype == ag.ones(2, dtype=a.dtype).dtype == name
    x[0, 0] = 1
    x[[1], 1] = 1
    assert x.tolist() == np.ones((2, 3), name).tolist()
    np.testing.assert_array_equal(x.astype("float32").numpy(), np.ones((2, 3)))


def test_bfloat16():
    values = [1.0, -2.5, 3.0078125, 1e30]
    x = ag.array(values, dtype="bfloat16")
    assert x.dtype == ag.bfloat16 and x.itemsize == 2
    assert x.numpy().dtype == np.float32 and x.tolist() == x.astype("float32").tolist()
    assert x.tolist()[:2] == [1.0, -2.5] and abs(x[2].item() - 3.0078125) <= 2 ** -7
    assert pickle.loads(pickle.dumps(x)).tolist() == x.tolist()
    assert (ag.ones(2, 3, dtype="bfloat16") @ ag.ones(3, 2, dtype="bfloat16")).tolist() == [[3, 3]] * 2
    assert (x < 0).tolist() == [False, True, False, False]
    with pytest.raises(BufferError):
        memoryview(x)


def test_files_keep_types(tmp_path):
    tensors = {name: ag.array([0, 1, 1], dtype=name) for name in [*SHARED, "bfloat16"]}
    ag.save(tmp_path / "file", tensors)
    loaded = ag.load(tmp_path / "file")
    for name, x in tensors.items():
        assert loaded[name].dtype == name and loaded[name].tolist() == x.tolist()


@pytest.mark.parametrize("shape", [(4,), (2, 2), (1, 4, 1)])
def test_every_byte_but_0_is_true(shape):
    a = np.array([0, 1, 2, 255], "uint8").reshape(shape).view(bool)
    for x in (ag.array(a), ag.array(a, dtype="bool"), ag.array(a.T).T):
        assert x.astype("int64").reshape(4).tolist() == [0, 1, 1, 1]
        assert ag.any(x.reshape(4)[2:3]).item() is True and (x == a.astype("int64").astype(bool)).all().item() is True
    assert ag.array(np.array(2, "uint8").view(bool)).astype("float32").item() == 1
    assert ag.array(a[:0]).shape == a[:0].shape


RELATIONS = ["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"]


@pytest.mark.parametrize("name", SHARED)
def test_comparisons(name):
    a, b = np.array([[0, 1, 1]]).astype(name), np.array([[1], [0]]).astype(name)
    for relation in RELATIONS:
        for other, theirs in ((ag.array(b), b), (1, 1), (0.5, 0.5), (b, b)):
            found = getattr(ag.array(a), relation)(other)
            assert found.dtype == ag.bool and not found.requires_grad
            np.testing.assert_array_equal(found.numpy(), getattr(a, relation)(theirs))
    assert (1 > ag.array(a)).tolist() == (1 > a).tolist() and (0.5 <= ag.array(a)).tolist() == (0.5 <= a).tolist()


def test_nan_compares_as_in_numpy():
    a = np.array([np.nan, 1, np.inf], "float32")
    x = ag.array(a)
    for relation in RELATIONS:
        np.testing.assert_array_equal(getattr(x, relation)(1).numpy(), getattr(a, relation)(1))
    assert ag.isnan(x).tolist() == [True, False, False] and x.isfinite().tolist() == [False, True, False]
    assert x.logical_not().tolist() == [False] * 3


def test_logic():
    a, b = np.array([True, True, False, False]), np.array([True, False, True, False])
    x, y = ag.array(a), ag.array(b)
    for found, expected in ((x & y, a & b), (x | y, a | b), (x ^ y, a ^ b), (~x, ~a), (x & True, a), (False | x, a),
                            (x ^ np.True_, ~a), (x & b, a & b),
                            (ag.logical_and(x, y), a & b), (ag.logical_or(x, y), a | b), (ag.logical_xor(x, y), a ^ b),
                            (ag.logical_not(x), ~a), (ag.logical_and(ag.array([2, 0, 1, 0]), 1), [True, False, True, False])):
        assert found.dtype == ag.bool
        np.testing.assert_array_equal(found.numpy(), expected)
    z = x
    z &= y
    assert z is x and x.tolist() == (a & b).tolist()
    with pytest.raises(TypeError):
        ag.ones(2) & ag.ones(2)
    with pytest.raises(TypeError):
        ~ag.ones(2)


@pytest.mark.parametrize("name", SHARED)
def test_reductions(name):
    a = np.array([[0, 1, 1], [0, 1, 0]]).astype(name)
    x = ag.array(a)
    for axis in (None, 0, 1, (0, 1)):
        for function in ("sum", "mean", "max", "min", "any", "all"):
            found = getattr(x, function)(axis)
            np.testing.assert_allclose(found.numpy(), getattr(a, function)(axis), rtol=1e-6)
            assert getattr(x, function)(axis, keepdims=True).ndim == 2
        assert x.any(axis).dtype == x.all(axis).dtype == ag.bool and x.max(axis).dtype == name
    assert x.argmax(1).tolist() == a.argmax(1).tolist() and x.argmin(0).tolist() == a.argmin(0).tolist()


def test_promotion():
    truth, x, i = ag.array([True, False]), ag.array([2.0, 3.0]), ag.array([2, 3])
    assert (x * truth).tolist() == [2, 0] and (x * truth).dtype == ag.float32
    assert (truth * i).dtype == (1 - truth).dtype == ag.int64 and (1 - truth).tolist() == [0, 1]
    assert (truth * 0.5).dtype == ag.float32 and (truth / 2).tolist() == [0.5, 0]
    assert (ag.array([255], dtype="uint8") / 255).tolist() == [1]
    assert ag.where(truth, x, 0).tolist() == [2, 0] and ag.where(x - 2, 1, 0).tolist() == [0, 1]
    assert ag.masked_fill(x, truth, 9).tolist() == [9, 3]
    w = ag.array([1.0, 2.0]).requires_grad_()
    (w * (w > 1)).sum().backward()
    assert w.grad.tolist() == [0, 1]
    assert (truth + truth).dtype == (truth * truth).dtype == ag.bool and (truth + ~truth).tolist() == [True, True]
    for wrong in (lambda: truth - truth, lambda: -truth, lambda: truth.__iadd__(0.5), lambda: i.__itruediv__(2)):
        with pytest.raises(TypeError):
            wrong()


@pytest.mark.parametrize("name", ["int32", "uint8"])
def test_arithmetic_of_narrow_integers(name):
    a, b = np.array([[1, 2, 7], [9, 4, 3]], name), np.array([2, 1, 2], name)
    x, y = ag.array(a), ag.array(b)
    for compute in (lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a // b, lambda a, b: a % b, lambda a, b: a ** b,
                    lambda a, b: a + 3, lambda a, b: 2 * a, lambda a, b: a / b, lambda a, b: a / 2, lambda a, b: a < 5,
                    lambda a, b: a * 1.5, lambda a, b: a + a.astype("float32"), lambda a, b: a + a.astype("int64")):
        found, expected = compute(x, y), compute(a, b)
        np.testing.assert_allclose(found.numpy(), expected)
        assert str(found.dtype) == str(expected.dtype)
    for function in ("maximum", "minimum"):
        assert getattr(ag, function)(x, y).tolist() == getattr(np, function)(a, b).tolist()
    assert abs(x).tolist() == a.tolist() and ag.square(y).dtype == name and x.clip(2, 4).tolist() == a.clip(2, 4).tolist()
    x += 1
    x *= y
    x -= b
    x //= 2
    assert x.dtype == name and x.tolist() == (((a + 1) * b - b) // 2).tolist()
    with pytest.raises(ValueError, match="cannot hold 4294967296"):
        x + 2 ** 32
    with pytest.raises(TypeError):
        x += 0.5


def test_bfloat16_is_computed_in_float32():
    x = ag.array([1.0, 2.0, -3.0]).to("bfloat16")
    for compute in (lambda x: x + x, lambda x: x * 3, lambda x: x / 2, lambda x: abs(x), lambda x: ag.exp(x), lambda x: -x):
        assert compute(x).dtype == "bfloat16"
        np.testing.assert_allclose(compute(x).numpy(), compute(ag.array([1.0, 2.0, -3.0])).numpy(), rtol=1 / 128)
    for reduce in (ag.sum, ag.mean, ag.var, ag.norm, ag.logsumexp, ag.max):
        np.testing.assert_allclose(np.asarray(reduce(x)), np.asarray(reduce(x.to("float32"))), rtol=1e-6)
    for along in (ag.softmax, ag.log_softmax):
        assert along(x).dtype == "bfloat16"
        np.testing.assert_allclose(along(x).numpy(), along(x.to("float32")).numpy(), rtol=1 / 128)
    w = ag.array([1.0, 2.0]).requires_grad_()
    (w.to("bfloat16") * 3).to("float32").sum().backward()
    assert w.grad.tolist() == [3, 3]


def test_a_float_is_no_mask():
    with pytest.raises(IndexError):
        ag.ones(3)[ag.ones(3)]
    x = ag.array([1, 2, 3], dtype="uint8")
    x[x > 1] = 7
    assert x.tolist() == [1, 7, 7] and x[~(x > 1)].tolist() == [1]


def test_random_choices():
    x = ag.randint(-3, 4, (1000,))
    assert x.dtype == ag.int64 and set(x.tolist()) == set(range(-3, 4))
    assert ag.randint(0, 2, 5, dtype="uint8").dtype == ag.uint8
    assert sorted(ag.permutation(50).tolist()) == list(range(50)) and ag.permutation(50).tolist() != list(range(50))
    coins = ag.bernoulli(0.25, (4000,))
    assert coins.dtype == ag.bool and 800 < coins.sum().item() < 1200
    assert ag.bernoulli(ag.array([0.0, 1.0])).tolist() == [False, True]
    a, b = (ag.permutation(9, generator=ag.Generator(5)) for _ in range(2))
    assert a.tolist() == b.tolist()
    for wrong in (lambda: ag.randint(3, 3, 2), lambda: ag.bernoulli(1.5, 2), lambda: ag.bernoulli(0.5),
                  lambda: ag.permutation(-1), lambda: ag.bernoulli(ag.ones(2), (3,))):
        with pytest.raises(ValueError):
            wrong()


EDGES = [0, 1, -1, 2, -2, 3, -3, 7, 2**31, 2**53 + 1, -2**53 - 1, 2**62 + 1, 2**63 - 1, -2**63, -2**63 + 1]


@pytest.mark.parametrize("divide", [lambda x, y: x // y, lambda x, y: x % y])
def test_division_of_integers_is_numpys(divide):
    a = np.array(EDGES, "int64")
    with np.errstate(all="ignore"):
        pairs = [(a[:, None], a), (a, a[:, None, None]), (a, a[3]), (a[-1], a), (a[:0], a[:1]), (a[:3], a[3:6])]
        pairs += [(np.arange(-50000, 50000).reshape(4, -1), np.array([[7], [-3], [0], [1]]))]
        for x, y in pairs:
            found, wanted = divide(ag.array(x), ag.array(y)), divide(x, y)
            assert found.dtype == "int64"
            np.testing.assert_array_equal(found.numpy(), wanted)
        for number in EDGES:
            np.testing.assert_array_equal(divide(ag.array(a), number).numpy(), divide(a, np.int64(number)))
            np.testing.assert_array_equal(divide(number, ag.array(a)).numpy(), divide(np.int64(number), a))
    with pytest.raises(ValueError, match="broadcast"):
        divide(ag.array(a), ag.array(a[:2]))


@pytest.mark.parametrize("name", ["int32", "uint8"])
def test_narrow_integers_wrap_around(name):
    most = np.iinfo(name).max
    a, b = np.array([most, 0, 3], name), np.array([[2], [most]], name)
    x, y = ag.array(a), ag.array(b)
    with np.errstate(all="ignore"):
        for compute in (lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a + 2, lambda a, b: 1 - a,
                        lambda a, b: -b, lambda a, b: a ** 3):
            found, expected = compute(x, y), compute(a, b)
            assert found.dtype == name
            np.testing.assert_array_equal(found.numpy(), expected)
        np.testing.assert_array_equal(ag.square(x).numpy(), np.square(a))
        x *= ag.array([2, 2, 2], dtype=name)
        a *= np.array([2, 2, 2], name)
    assert x.dtype == name and x.tolist() == a.tolist()
    large = np.arange(70000).astype(name)
    np.testing.assert_array_equal((ag.array(large) * 7).numpy(), large * 7)


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("dtype", SHARED)
def test_there_is_no_extreme_without_elements(name, dtype):
    for axis in (None, 1, (0, 1)):
        with pytest.raises(ValueError):
            getattr(ag.zeros(3, 0, dtype=dtype), name)(axis)
    assert getattr(ag.zeros(3, 0, dtype=dtype), name)(0).shape == (0,)


def test_powers_of_integers_are_exact():
    a, b = np.array([0, 1, -1, 2, -3, 7, 2**40]), np.array([[0], [1], [2], [5], [39], [63]])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal((ag.array(a) ** ag.array(b)).numpy(), a ** b)
        for number in (0, 1, 2, 39):
            np.testing.assert_array_equal((ag.array(a) ** number).numpy(), a ** number)
        np.testing.assert_array_equal((3 ** ag.array(b)).numpy(), 3 ** b)


def test_a_number_on_either_side_takes_the_same_type():
    for x in (ag.array([True, False]), ag.array([0, 3]), ag.array([0, 3], dtype="int32"), ag.array([0.0, 3])):
        for number in (2, 0.5, 2.5):
            a, b = ag.maximum(x, number), ag.maximum(number, x)
            expected = np.maximum(x.numpy(), number)
            assert a.dtype == b.dtype and (a.dtype == str(expected.dtype) or x.dtype == "bool")
            assert a.tolist() == b.tolist() == expected.tolist()
    truth = ag.array([True, False])
    assert (truth + True).dtype == (True * truth).dtype == ag.bool and (truth + True).tolist() == [True, True]


def test_numbers_of_numpy_count_as_pythons():
    flags, narrow = ag.array([True, False]), ag.array([6, 5], "int32")
    for truth in (True, np.True_, np.array(True)):
        for found in (flags + truth, truth + flags, flags * truth, ag.where(flags, truth, flags)):
            assert found.dtype == "bool" and found.shape == (2,)
    for number in (3, np.int8(3), np.int64(3), np.array(3)):
        for found in (narrow & number, number & narrow, narrow ^ number, narrow << number):
            assert found.dtype == "int32"


def test_numbers_written_into_bool_and_integers():
    for key in (0, [0], slice(0, 1)):
        for number, truth in ((0.5, True), (2, True), (0, False), (float("nan"), True)):
            x, a = ag.array([not truth, False]), np.array([not truth, False])
            x[key] = number
            a[key] = number
            assert x.tolist() == a.tolist() == [truth, False]
        x = ag.zeros(2, dtype="int64")
        x[key] = -1.7
        assert x.tolist() == [-1, 0]
    x = ag.array([True, False])
    x[x] = 0.5
    assert x.tolist() == [True, False]


@pytest.mark.parametrize("name", ["int32", "uint8", "bool"])
def test_cumulative_sums_of_narrow_types(name):
    a = np.array([[1, 0], [1, 1]]).astype(name)
    for axis in (None, 0, -1):
        assert ag.cumsum(ag.array(a), axis).tolist() == np.cumsum(a, axis).tolist()


@pytest.mark.parametrize("convert", [operator.index, int, lambda x: range(2**63 - 1)[x], lambda x: x.item()])
def test_an_integer_tensor_is_that_integer(convert):
    for number in (0, 5, 2**53 + 1, 2**62 + 1):
        assert convert(ag.array(number)) == number
    assert operator.index(ag.array(-2**63)) == -2**63 and operator.index(ag.array(-7, dtype="int32")) == -7


def test_unsigned_integers_that_do_not_fit():
    largest = np.array([1, 2**63 - 1], "uint64")
    assert ag.array(largest).tolist() == [1, 2**63 - 1] and ag.array(largest[:0]).shape == (0,)
    for given in (largest + np.uint64(1), np.uint64(2**63), [np.uint64(2**64 - 1)]):
        with pytest.raises(OverflowError, match="out of bounds for int64"):
            ag.array(given)
        with pytest.raises(OverflowError, match="out of bounds for int64"):
            ag.ones(2) + ag.asarray(given)
    # A type that is asked for takes what NumPy's conversion gives.
    assert ag.array(np.array([2**63], "uint64"), "int64").tolist() == [-2**63]
    assert ag.array(np.array([2**63], "uint64"), "float64").tolist() == [2.0**63]


def test_what_is_as_it_is_wanted_is_the_same_object():
    x = ag.ones(2)
    assert x.to(x.device) is x and x.to("float32") is x and x.astype("float32", copy=False) is x
    for y in x.to(x.device, copy=True), x.astype("float32"), x.to("int64"):
        assert y is not x and y.tolist() == [1, 1]


def test_a_tensor_is_hashed_as_an_object():
    x = ag.parameter(ag.ones(2))
    y = x * 2
    places = {x: 0, y: 1}
    y.sum().backward()
    y.detach_()
    assert places[y] == 1 and len({x.grad, x.grad}) == 2
