"""Values and types of numbers, beside NumPy: the default type, division, edges, integers that do not fit, names of types, masks."""
import contextlib
import gc
import operator
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest

import asyncgrad as ag

EDGES = [0.0, -0.0, 1, -1, 0.1, -0.1, 0.3, 0.5, 2, -2, 3, 7, -7, 1e8, -1e8, 1e-40, 1e30, np.inf, -np.inf, np.nan]


def assert_same(found, expected):
    """Equal, NaN where NaN is, and zeros of the same sign."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(expected)[numbers])


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("divide", [lambda x, y: x // y, lambda x, y: x % y])
def test_division_of_floats_is_numpys(divide, name):
    a = np.array(EDGES, name)
    b = np.random.default_rng(0).normal(size=(1000, 1)).astype(name)
    with np.errstate(all="ignore"):
        assert_same(divide(ag.array(a[:, None]), ag.array(a)), divide(a[:, None], a))
        assert_same(divide(ag.array(b), ag.array(a)), divide(b, a))
        for number in (0.1, -0.1, 3, -2, 0, float("inf")):
            assert_same(divide(ag.array(a), number), divide(a, np.array(number, name)))
            assert_same(divide(number, ag.array(a)), divide(np.array(number, name), a))
    assert ag.floor_divide(7.0, ag.array(2.0)).item() == 3 and ag.remainder(ag.array([-7.0]), 2).tolist() == [1]


def test_the_gradient_of_a_remainder():
    x, y = ag.array([7.0, -7.0]).requires_grad_(), ag.array([2.0, 2.0]).requires_grad_()
    (x % y).sum().backward()
    assert x.grad.tolist() == [1, 1] and y.grad.tolist() == [-3, 4] and not (x // y).requires_grad


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_signs_of_zero(name):
    a = np.array([0.0, -0.0], name)
    for function in ("sin", "tanh", "expm1", "log1p", "sqrt", "floor", "round", "sign", "abs", "square"):
        assert_same(getattr(ag, function)(ag.array(a)), getattr(np, function)(a))


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_powers_at_the_edges(name):
    a = np.array([*EDGES], name)
    with np.errstate(all="ignore"):
        for number in (0.5, -0.5, -1, 0, 1, 2, 3, 1.5):
            found, expected = np.asarray(ag.array(a) ** number), np.power(a, np.full_like(a, number))
            np.testing.assert_allclose(found, expected, rtol=1e-6 if name == "float32" else 1e-14)
            same = ~np.isnan(expected)
            np.testing.assert_array_equal(np.signbit(found)[same], np.signbit(expected)[same])


def test_floats_round_integers():
    for name in ("float32", "float64"):
        x, a = ag.ones(2, dtype=name), np.ones(2, name)
        for number in (123456789, 2**53 + 1, -2**62 - 1):
            assert_same(x + number, a + number)
            assert_same(number - x, number - a)
            assert_same(x * number, a * number)
            assert_same(x < number, a < number)
            assert_same(ag.maximum(x, number), np.maximum(a, np.array(number, name)))
            assert ag.full((1,), number, dtype=name).item() == np.full((1,), number, name).item()
            y = ag.zeros(1, dtype=name)
            y[0] = number
            y += number
            assert y.item() == (np.zeros(1, name) + number + number).item()
        for number in (2**63, 2**64 + 1, -10**30):
            assert_same(x + number, a + float(number))
            assert_same(number - x, float(number) - a)
            assert_same(x / number < 1, a / float(number) < 1)
            for function, of_numpy in ((ag.maximum, np.maximum), (ag.minimum, np.minimum), (ag.hypot, np.hypot), (ag.less, np.less)):
                for pair in ((x, number), (number, x)):
                    assert_same(function(*pair), of_numpy(*(a if one is x else np.array(float(one), name) for one in pair)))
            rounded = np.array(float(number), name)
            assert_same(ag.full((2,), number, dtype=name), np.full(2, rounded))
            assert_same(ag.full_like(x, number), np.full(2, rounded))
            assert_same(ag.full_like(ag.ones(2, dtype="int64"), number, dtype=name), np.full(2, rounded))
            assert_same(ag.masked_fill(x, ag.array([True, False]), number), np.array([rounded, 1], name))
            assert_same(ag.where(ag.array([True, False]), number, x), np.array([rounded, 1], name))
            assert_same(ag.clip(x, number, None), np.maximum(a, rounded))
            assert_same(ag.clip(x, -10**31, number), np.minimum(a, rounded))
            assert_same(ag.pad(x, [(1, 0)], number), np.array([rounded, 1, 1], name))
            assert_same(ag.zeros(2, dtype=name).fill_(number), np.full(2, rounded))
            for key in (0, slice(0, 1), [0], ag.array([True, False])):
                y = ag.ones(2, dtype=name)
                y[key] = number
                assert_same(y, np.array([rounded, 1], name))
    whole = ag.ones(2, dtype="int64")
    for wrong in (lambda: ag.maximum(whole, 2**64), lambda: ag.full((2,), 2**64), lambda: ag.full_like(whole, 2**64), lambda: whole.fill_(2**64),
                  lambda: whole.__setitem__(0, 2**64), lambda: ag.where(whole > 0, 2**64, whole), lambda: ag.clip(whole, 0, 2**64),
                  lambda: ag.maximum(ag.ones(1), 10**400), lambda: ag.full((1,), 10**400, dtype="float64")):
        with pytest.raises((ValueError, OverflowError)):
            wrong()
    assert (ag.ones(1, dtype="bfloat16") * 257).item() == 256
    for wrong in (lambda: ag.ones(1) + 10**39, lambda: ag.ones(1) + 10**400, lambda: ag.array([1]) + 2**63):
        with pytest.raises((ValueError, OverflowError)):
            wrong()


@pytest.mark.parametrize("power, text", [(400, "an integer of 1329 bits"), (5000, "an integer of 16610 bits")])
def test_numbers_beyond_every_type_are_said_in_bits(power, text):
    large = 10**power  # Python does not write the second one
    x, whole = ag.ones(2), ag.array([1, 2])
    for refused in (lambda: x + large, lambda: large - x, lambda: x == large, lambda: x.__setitem__(0, large), lambda: x.__setitem__([0], -large),
                    lambda: ag.full((2,), large, dtype="float32"), lambda: x.fill_(large), lambda: ag.where(x > 0, large, x), lambda: ag.clip(x, 0, large),
                    lambda: ag.nn.Dropout(large), lambda: ag.nn.HuberLoss(delta=large), lambda: ag.optim.SGD([ag.parameter(x)], lr=large),
                    lambda: ag.data.weighted([1, large]), lambda: ag.data.split(range(4), [large]), lambda: ag.bernoulli(large, (2,)),
                    lambda: ag.optim.WeightAverage([ag.parameter(x)], decay=large), lambda: ag.array([1.5, large], dtype="float32")):
        with pytest.raises(ValueError, match=f"does not fit into float64: -?{text}; float\\('inf'\\) stands for"):
            refused()
    for refused in (lambda: whole + large, lambda: whole.__setitem__(0, large), lambda: ag.zeros(large), lambda: whole.sum(large), lambda: x.reshape(large),
                    lambda: ag.full((2,), large), lambda: ag.array(large), lambda: ag.nn.Dense(large, 1), lambda: ag.nn.CTCLoss(blank=large),
                    lambda: ag.data.Batches(np.ones(4), batch_size=large)):
        with pytest.raises(ValueError, match=f"does not fit into 64 bits: {text}"):
            refused()
    for made, name in (([large], None), ([[0.5], [large]], None), ([large], "int64"), ((1, large), "uint8")):
        with pytest.raises(OverflowError, match=f"Python integer {text} out of bounds for {name or 'int64'}"):
            ag.array(made, dtype=name)
    with pytest.raises(TypeError, match=f"seed must be an integer .*, got {text}"):
        ag.data.Batches(np.ones(4), seed=large)


@pytest.mark.parametrize("name", ["int32", "uint8"])
def test_integers_that_do_not_fit(name):
    limits = np.iinfo(name)
    wide = np.array([limits.min, limits.max, limits.max + 1, limits.min - 1, 300, -1, 2**40 + 5])
    # Arrays are converted, and keep the low bits.
    assert_same(ag.array(wide).astype(name), wide.astype(name))
    assert_same(ag.array(wide, dtype=name), wide.astype(name))
    # So does arithmetic.
    most = np.array([limits.max], name)
    with np.errstate(all="ignore"):
        assert_same(ag.array(most) + ag.array(most), most + most)
        assert_same(ag.array(most) * 3, most * np.array(3, name))
    # Numbers of Python are refused.
    for wrong in (limits.max + 1, limits.min - 1):
        for made in (wrong, [wrong], [[0, wrong]], (1, wrong)):
            with pytest.raises(OverflowError, match=f"{wrong} out of bounds for {name}"):
                ag.array(made, dtype=name)
        with pytest.raises((ValueError, OverflowError)):
            ag.full((2,), wrong, dtype=name)
    assert ag.array([limits.max, limits.min], dtype=name).tolist() == [limits.max, limits.min]
    with pytest.raises(OverflowError):
        ag.array([2**63])


def test_floats_become_the_nearest_integer_that_fits():
    a = np.array([-1.5, 254.9, 1e10, np.inf, -np.inf, np.nan], "float32")
    for found in (ag.array(a).astype("uint8"), ag.array(a, dtype="uint8")):
        assert found.tolist() == [0, 254, 255, 255, 0, 0]
    for found in (ag.array(a).astype("int32"), ag.array(a.tolist(), dtype="int32")):
        assert found.tolist() == [-1, 254, 2**31 - 1, 2**31 - 1, -2**31, 0]


@pytest.mark.parametrize("given, name", [
    ("f4", "float32"), ("f8", "float64"), ("i4", "int32"), ("i8", "int64"), ("u1", "uint8"), ("?", "bool"), ("d", "float64"),
    ("<f4", "float32"), ("=i8", "int64"), ("double", "float64"), ("single", "float32"), ("int", "int64"), ("float", "float64"),
    (np.intp, "int64"), (np.longlong, "int64"), (np.dtype("f4"), "float32"), (np.bool_, "bool"), (np.single, "float32"),
    (float, "float64"), (int, "int64"), (bool, "bool"), (ag.bfloat16, "bfloat16"),
])
def test_names_of_types(given, name):
    for made in (ag.zeros(2, dtype=given), ag.ones(2).astype(given), ag.array([0, 1], given), ag.ones(2).to(given)):
        assert made.dtype == name


@pytest.mark.parametrize("wrong", ["f2", "c8", ">f4", "i2", "no such type", "U3", object, np.float16, 7, [1]])
def test_types_that_tensors_do_not_have(wrong):
    with pytest.raises(TypeError, match="no tensor has the element type"):
        ag.zeros(2, dtype=wrong)


def test_numbers_of_numpy_keep_their_type():
    for given in (np.float64(0.1), np.float32(0.1), np.int32(3), np.uint8(3), np.bool_(True)):
        for made in (given, [given], [[given, given]], [1, given]):
            expected = np.array(made)
            assert ag.array(made).dtype == expected.dtype and ag.array(made).tolist() == expected.tolist()
        assert ag.full((2,), given).dtype == np.full((2,), given).dtype
    assert ag.array(0.1).dtype == ag.array([0.1, 1]).dtype == ag.array([]).dtype == ag.float32
    assert (ag.ones(2) * np.float64(2)).dtype == ag.float32  # beside a tensor it counts as Python's


def test_masked_arrays_are_refused():
    masked = np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])
    for use in (ag.array, ag.asarray, ag.from_numpy, lambda a: ag.ones(3) + a, lambda a: ag.array([a, a]),
                lambda a: ag.maximum(ag.ones(3), a), lambda a: ag.ones(3).__setitem__(slice(None), a)):
        with pytest.raises(TypeError, match="masked array"):
            use(masked)
    assert ag.array(masked.filled(0)).tolist() == [1, 0, 3]
    assert ag.array(np.ma.array([1.0, 2.0])).tolist() == [1, 2]


@pytest.mark.parametrize("share", [ag.from_numpy, ag.from_dlpack])
def test_an_array_that_is_shared_keeps_its_size(share):
    a = np.ones(1000)
    for shared in (a, a[10:20], a.reshape(10, 100)[2:5]):
        x = share(shared)
        with pytest.raises(ValueError, match="cannot resize"):
            a.resize(1 << 22, refcheck=False)
        assert x.sum().item() == x.size
        del x
    del shared
    ag.wait_all()
    for _ in range(100):  # a thread of the engine may still be giving the last one back
        gc.collect()
        with contextlib.suppress(ValueError):
            a.resize(2000, refcheck=False)
            break
    assert a.size == 2000


def in_a_process(program):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=100)


def test_objects_that_hold_themselves(tmp_path):
    done = in_a_process(f"""
        import asyncgrad as ag
        def refused(call, *kinds):
            try: call()
            except kinds as e: print(type(e).__name__)
        one = [0]; one[0] = one
        late = [1, 2]; late[1] = late
        d = {{}}; d["d"] = d
        deep = {{}}
        for _ in range(100000): deep = {{"d": deep}}
        for made in (one, late):
            for call in (lambda: ag.array(made), lambda: ag.ones(2) + made, lambda: ag.zeros(made),
                         lambda: ag.ones(3)[made], lambda: ag.maximum(ag.ones(2), made)):
                refused(call, ValueError, TypeError, IndexError, RecursionError)
        for part in (d, deep):
            refused(lambda: ag.Checkpoint(x=part).save({str(tmp_path / "file")!r}), ValueError)
        """)
    assert done.returncode == 0 and len(done.stdout.split()) == 12, (done.returncode, done.stdout, done.stderr[-500:])


def test_a_function_that_refers_to_its_result_is_collected():
    def own_exp(x):
        y = x.detach().exp()
        y = ag.with_gradient("own_exp", y, [x], lambda dy: dy * y)
        z = y * 2
        w = ag.with_gradient("other", z.detach(), [x], lambda dy: dy * z * w)
        return y

    x = ag.ones(100, 100).requires_grad_()
    ag.wait_all()
    before = ag.memory()["live_bytes"]
    for _ in range(50):
        own_exp(x)
    for _ in range(100):
        gc.collect()
        ag.wait_all()
        if ag.memory()["live_bytes"] <= before + 2 * x.nbytes:
            break
    assert ag.memory()["live_bytes"] <= before + 2 * x.nbytes
    y = own_exp(x)  # what is in use stays
    gc.collect()
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp(np.ones((100, 100), "float32")), rtol=1e-6)


def test_functions_of_shared_histories_stay():
    x = ag.ones(3).requires_grad_()
    for _ in range(20):
        calls = []
        y = ag.with_gradient("noted", x.detach(), [x], lambda dy, calls=calls: calls.append(1) or dy)
        a, b = y * 2, y * 3
        del y
        gc.collect()
        (a + b).sum().backward()
        assert calls == [1]
    assert x.grad.tolist() == [100] * 3


def test_no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ag.array([1, 2, 3], dtype="uint8"), ag.array(np.arange(3), dtype="int32"), ag.zeros(2, dtype="f4")


@pytest.fixture
def float64_by_default():
    ag.set_default_dtype("float64")
    yield
    ag.set_default_dtype("float32")


def test_the_default_type(float64_by_default):
    assert ag.default_dtype() is ag.float64
    made = [ag.zeros(2), ag.ones(2), ag.rand(2), ag.randn(2), ag.array(0.5), ag.array([1.0, 2]), ag.full((2,), 0.5), ag.arange(0, 1, 0.5),
            ag.empty(2), ag.eye(2), ag.linspace(0, 1, 3), ag.one_hot(ag.array([1]), 2), ag.uniform(0, 1, (2,)), ag.normal(0, 1, (2,)),
            ag.sqrt(ag.array([True])), ag.nn.Dense(2, 3).weight, ag.nn.LSTM(2, 3).state()[0][1], ag.nn.init.he_normal((2, 3)),
            ag.custom("fill", (2,), [], lambda out: out.fill(1)), next(iter(ag.data.Batches([0.5, 1.5])))[0]]
    assert {str(x.dtype) for x in made} == {"float64"}
    assert ag.ones(2, dtype="float32").dtype == ag.array(np.float32(1)).dtype == ag.float32
    with pytest.raises(TypeError, match="float32 or float64, not int64"):
        ag.set_default_dtype("int64")


TYPES_OF_NUMPY = ["bool", "uint8", "int32", "int64", "float32", "float64"]
CONDITION = np.array([True, False, True])
OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.lt, operator.eq]
DIVISIONS = [operator.floordiv, operator.mod, operator.pow]
IN_PLACE = [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod, operator.ipow]


def values_of(name):
    return np.array([0, 1, 1] if name == "bool" else [0, 1, 3]).astype(name)


def outcome(call, *args):
    """The type and values that a call gives, or TypeError."""
    try:
        with np.errstate(all="ignore"):
            found = np.asarray(call(*args))
    except TypeError:
        return TypeError
    return str(found.dtype), found.tolist()


def assert_same_outcome(ours, theirs):
    if ours is TypeError or theirs is TypeError:
        assert ours is theirs
    else:
        assert ours[0] == theirs[0]
        np.testing.assert_allclose(ours[1], theirs[1])


@pytest.mark.parametrize("number", [2, 0.5, 2.0])
@pytest.mark.parametrize("name", TYPES_OF_NUMPY)
def test_numbers_beside_tensors_have_numpys_types(float64_by_default, name, number):
    a = values_of(name)
    # NumPy divides bool by an integer in int8; here it is int64.
    of_two = OPERATORS + [*DIVISIONS] * (name != "bool" or isinstance(number, float))
    for call in of_two:
        assert_same_outcome(outcome(call, ag.array(a), number), outcome(call, a, number))
        assert_same_outcome(outcome(call, number, ag.array(a)), outcome(call, number, a))
    for call in IN_PLACE:
        assert_same_outcome(outcome(call, ag.array(a), number), outcome(call, a.copy(), number))
    if name != "bool":
        assert_same_outcome(outcome(ag.pow, ag.array(a), number), outcome(np.power, a, number))
    assert_same_outcome(outcome(ag.pow, number, ag.array(a)), outcome(operator.pow, number, a))
    for pair in ((a, number), (number, a)):
        ours = [ag.array(x) if x is a else x for x in pair]
        assert_same_outcome(outcome(ag.where, ag.array(CONDITION), *ours), outcome(np.where, CONDITION, *pair))
        for mine, theirs in ((ag.maximum, np.maximum), (ag.minimum, np.minimum)):
            assert_same_outcome(outcome(mine, *ours), outcome(theirs, *pair))
    for bounds in ((number, None), (None, number), (0, number), (number, 5)):
        assert_same_outcome(outcome(ag.clip, ag.array(a), *bounds), outcome(np.clip, a, *bounds))


@pytest.mark.parametrize("other", TYPES_OF_NUMPY)
@pytest.mark.parametrize("name", TYPES_OF_NUMPY)
def test_two_tensors_have_numpys_types(float64_by_default, name, other):
    a, b = values_of(name), np.ones(3, other)
    for call in OPERATORS + [*DIVISIONS] * (name != other or name != "bool"):
        assert_same_outcome(outcome(call, ag.array(a), ag.array(b)), outcome(call, a, b))
    assert_same_outcome(outcome(ag.where, ag.array(CONDITION), ag.array(a), ag.array(b)), outcome(np.where, CONDITION, a, b))


def test_float32_is_the_default_beside_bool():
    mask = ag.array([1.0, -1.0]) > 0
    for found in (ag.where(mask, 1, 0.5), mask * 0.5, 0.5 * mask, mask + 0.5, ag.where(mask, 0.5, mask), ag.where(mask, 0.5, 1), mask / mask, ag.clip(mask, 0.5, 1)):
        assert found.dtype == ag.float32
    assert ag.where(mask, mask, False).dtype == ag.bool


def test_what_is_in_place_changes_the_tensor():
    for call in IN_PLACE:
        x = y = ag.array([7.0, 3.0])
        x = call(x, 2)
        assert x is y and y.tolist() == call(np.array([7.0, 3.0]), 2).tolist()


def test_masked_fill_and_clip_of_every_type():
    for name in TYPES_OF_NUMPY:
        assert ag.clip(ag.array(values_of(name)), None, None).tolist() == values_of(name).tolist()
        found = ag.masked_fill(ag.array(values_of(name)), ag.array(CONDITION), 1)
        assert found.dtype == name and found.tolist() == np.where(CONDITION, np.array(1, name), values_of(name)).tolist()


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_the_gradient_of_a_deviation_is_0_where_all_elements_are_equal(axis):
    values = np.array([[5.0, 5, 5], [5, 5, 7], [5, 5, 5]])
    for deviation in (lambda x: x.std(axis=axis), lambda x: ag.std(x, axis=axis), lambda x: np.std(x, axis=axis),
                      lambda x: ag.array_api.std(x, axis=axis)):
        x = ag.array(values).requires_grad_()
        y = deviation(x)
        np.testing.assert_array_equal(y.detach(), values.std(axis=axis))
        y.sum().backward()
        count = values.size if axis is None else values.shape[axis]
        spread = values - values.mean(axis=axis, keepdims=True)
        root = values.std(axis=axis, keepdims=True)
        np.testing.assert_allclose(x.grad, np.where(root == 0, 0, spread / (count * np.where(root == 0, 1, root))))
    x = ag.array([3.0, 3.0]).requires_grad_()
    (x.std() + (x * x).sum()).backward()
    assert x.grad.tolist() == [6, 6]
