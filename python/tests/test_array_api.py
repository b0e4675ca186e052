"""The array API standard's names: what they compute beside NumPy's, which follow the standard, too."""
import gc
import inspect
import pathlib
import re
import threading

import numpy as np
import pytest

import asyncgrad as ag
from asyncgrad import array_api as xp

pytestmark = pytest.mark.skipif(not hasattr(np, "__array_namespace_info__"), reason="NumPy is older than the standard's names")
DOC = pathlib.Path(__file__).parents[2] / "docs" / "python.md"

A = np.array([[0.5, -2.0, 0.25], [1.0, -0.75, 3.0]])
SQUARE = np.array([[[4.0, 1, 0.5], [1, 3, 0.25], [0.5, 0.25, 2]], [[2, 0, 0], [0, 1, 0.5], [0, 0.5, 3]]])
I = np.array([[5, -3, 0], [7, 2, -1]])
VALUES = {
    "x": A, "y": np.array([2.0, -0.5, 1.0]), "unit": A / 4, "s": SQUARE, "i": I, "j": np.array([2, 3, 1]), "m": A > 0, "n": I > 0,
    "narrow": I.astype("int32"), "bytes": np.array([200, 100, 7], "uint8"), "v": np.array([3, 1, 3, 2, 1]), "at": np.array([2, 0, -1]),
    "odd": np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.5, -1.5, 2.5]), "single": A.astype("float32"), "tall": A.T, "sorted": np.sort(A[0]),
    "where_at": np.array([[2, 0, -1], [0, 0, 1]])}

# The standard of 2024.12, by its chapters.
STANDARD = """
arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu zeros zeros_like
astype broadcast_arrays broadcast_to can_cast finfo iinfo isdtype result_type
abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or bitwise_right_shift bitwise_xor
ceil clip conj copysign cos cosh divide equal exp expm1 floor floor_divide greater greater_equal hypot imag isfinite isinf isnan
less less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or logical_xor maximum minimum multiply negative
nextafter not_equal positive pow real reciprocal remainder round sign signbit sin sinh square sqrt subtract tan tanh trunc
take take_along_axis matmul matrix_transpose tensordot vecdot
concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile unstack
argmax argmin count_nonzero nonzero searchsorted where unique_all unique_counts unique_inverse unique_values argsort sort
cumulative_prod cumulative_sum max mean min prod std sum var all any diff
bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128 e inf nan newaxis pi
__array_namespace_info__ linalg fft
linalg.cholesky linalg.cross linalg.det linalg.diagonal linalg.eigh linalg.eigvalsh linalg.inv linalg.matmul linalg.matrix_norm
linalg.matrix_power linalg.matrix_rank linalg.matrix_transpose linalg.outer linalg.pinv linalg.qr linalg.slogdet linalg.solve
linalg.svd linalg.svdvals linalg.tensordot linalg.trace linalg.vecdot linalg.vector_norm
""".split()


def has(name):
    part = xp
    for one in name.split("."):
        part = getattr(part, one, None)
    return part is not None or name == "newaxis"


def test_what_is_missing_is_listed():
    missing = {name for name in STANDARD if not has(name)}
    listed = re.search(r"Missing of the standard: (.*?)\.\n", DOC.read_text(), re.S).group(1)
    assert missing == set(re.findall(r"`(\w+)`", listed))
    public = {name for name in dir(xp) if not name.startswith("_")}
    assert public <= set(STANDARD)


def test_functions_say_what_they_do():
    for name in STANDARD:
        function = getattr(xp.linalg if "." in name else xp, name.split(".")[-1], None)
        if inspect.isfunction(function):
            assert function.__doc__ and function.__name__ == name.split(".")[-1], name
            assert inspect.signature(function), name


CASES = """
xp.abs(x) xp.acos(unit) xp.acosh(x*x+1) xp.asin(unit) xp.asinh(x) xp.atan(x) xp.atanh(unit) xp.atan2(x,y) xp.atan2(odd,xp.flip(odd))
xp.ceil(odd) xp.floor(odd) xp.trunc(odd) xp.round(odd) xp.sign(odd) xp.ceil(i) xp.trunc(narrow) xp.tan(x) xp.isinf(odd) xp.isinf(i) xp.isnan(odd)
xp.isfinite(odd) xp.signbit(odd) xp.copysign(odd,-odd) xp.copysign(x,y) xp.nextafter(x,y) xp.nextafter(single,xp.zeros_like(single))
xp.logaddexp(x,y) xp.logaddexp(odd,odd) xp.reciprocal(x) xp.positive(x) xp.hypot(x,y) xp.pow(x,2) xp.remainder(x,y) xp.floor_divide(x,y)
xp.maximum(x,y) xp.minimum(single,0.5) xp.clip(x,-1,1) xp.clip(x,y-1,None) xp.clip(x,xp.nan,1) xp.clip(x,None,y) xp.clip(x,y-1,2.) xp.clip(i,0,j) xp.logical_xor(m,n)
i&3 3&i i|j i^j i<<j 2<<j i>>1 narrow&7 narrow<<2 bytes^255 bytes<<1 ~i ~narrow ~bytes ~m m&n m|True m^n
xp.bitwise_and(i,j) xp.bitwise_or(m,n) xp.bitwise_xor(i,1) xp.bitwise_invert(bytes) xp.bitwise_left_shift(i,2) xp.bitwise_right_shift(i,j)
xp.sum(narrow) xp.sum(x,axis=(0,1),keepdims=True) xp.sum(x,axis=0,dtype=xp.float32) xp.sum(m) xp.prod(x,axis=1) xp.prod(i) xp.prod(x,axis=()) xp.prod(xp.zeros((0,3)),axis=0)
xp.mean(x,axis=-1) xp.var(x,correction=1) xp.var(x,axis=0,correction=2) xp.std(x,axis=1,keepdims=True) xp.var(x[:0,:],axis=0) xp.std(x[:1,:],axis=0,correction=1) xp.max(x,axis=0) xp.min(bytes)
xp.all(m,axis=0) xp.any(m) xp.count_nonzero(i,axis=1) xp.count_nonzero(x) xp.cumulative_sum(x,axis=1) xp.cumulative_sum(y,include_initial=True)
xp.cumulative_sum(narrow,axis=0) xp.cumulative_prod(x,axis=1) xp.cumulative_prod(i,axis=0,include_initial=True) xp.cumulative_prod(v)
xp.diff(x) xp.diff(x,axis=0) xp.diff(v,n=2) xp.diff(x,prepend=x,append=x[:,:1])
xp.argmax(x,axis=1) xp.argmin(x) xp.nonzero(m) xp.searchsorted(sorted,x) xp.searchsorted(sorted,y,side='right') xp.searchsorted(x[0,:],y,sorter=xp.argsort(x[0,:]))
xp.sort(x) xp.sort(odd) xp.argsort(v) xp.take(y,at) xp.take(x,at,axis=1) xp.take_along_axis(x,where_at,axis=1) xp.where(m,x,y)
xp.unique_all(v) xp.unique_all(i) xp.unique_counts(v) xp.unique_inverse(i) xp.unique_values(odd)
xp.concat([x,x],axis=None) xp.concat((x,tall.T),axis=-1) xp.concat([narrow,bytes[None,:]]) xp.stack([x,x],axis=1) xp.unstack(x,axis=1) xp.expand_dims(x,axis=-1) xp.flip(x) xp.flip(x,axis=1)
xp.moveaxis(s,0,-1) xp.moveaxis(s,(0,1),(2,0)) xp.permute_dims(s,(2,0,1)) xp.repeat(x,2) xp.repeat(x,2,axis=0) xp.repeat(v,v) xp.repeat(x,j,axis=1) xp.reshape(x,(-1,)) xp.reshape(x,(3,2),copy=True)
xp.roll(x,1) xp.roll(x,(1,2),axis=(0,1)) xp.roll(x,-1,axis=1) xp.squeeze(x[None,:],axis=0) xp.tile(x,(2,1,2)) xp.broadcast_to(y,(2,3)) xp.broadcast_arrays(x,y)
xp.arange(5) xp.arange(1,2,.25) xp.arange(0,16777217,2097153,dtype=xp.float32) xp.eye(2,3,k=1) xp.full((2,),True) xp.full_like(i,3) xp.linspace(0,1,5) xp.linspace(0.,1.,4,endpoint=False) xp.meshgrid(y,v,indexing='ij')
xp.ones((2,),dtype=xp.int32) xp.ones_like(x) xp.zeros_like(bytes) xp.tril(s) xp.triu(x,k=1) xp.asarray(x,copy=True) xp.astype(x,xp.int32)
xp.matmul(x,tall) xp.matmul(i,j) xp.matmul(narrow,xp.permute_dims(narrow,(1,0))) xp.matmul(j,j) xp.matrix_transpose(s) xp.tensordot(x,x,axes=1+1) xp.tensordot(s,x,axes=((2,),(1,))) xp.vecdot(x,y) xp.vecdot(i,j)
xp.linalg.cholesky(s) xp.linalg.cholesky(s,upper=True) xp.linalg.cross(x,y) xp.linalg.det(s) xp.linalg.diagonal(s,offset=1) xp.linalg.diagonal(x,offset=-1) xp.linalg.eigvalsh(s) xp.linalg.inv(s)
xp.linalg.matrix_norm(x) xp.linalg.matrix_norm(s,ord='nuc') xp.linalg.matrix_norm(x,ord=1,keepdims=True) xp.linalg.matrix_norm(x,ord=-2) xp.linalg.matrix_norm(s,ord=xp.inf)
xp.linalg.matrix_power(s,3) xp.linalg.matrix_power(s,-2) xp.linalg.matrix_power(s,0) xp.linalg.matrix_rank(s) xp.linalg.matrix_rank(x[:,:1]*y) xp.linalg.outer(y,j) xp.linalg.pinv(x) xp.linalg.pinv(x[:,:1]*y) xp.linalg.slogdet(s)
xp.linalg.solve(s,s) xp.linalg.solve(s,y) xp.linalg.svdvals(x) xp.linalg.trace(s) xp.linalg.trace(narrow) xp.linalg.vector_norm(x) xp.linalg.vector_norm(x,axis=1,ord=1) xp.linalg.vector_norm(x,axis=0,ord=3) xp.linalg.vector_norm(x,ord=-xp.inf) xp.linalg.vector_norm(i,ord=0)
x.mT s.mT x.T x[xp.asarray(True)] xp.asarray(2.)[xp.asarray(False)]
""".split()


@pytest.fixture(autouse=True)
def float64():
    ag.set_default_dtype("float64")  # as NumPy
    yield
    ag.set_default_dtype("float32")


def computed(case, namespace, values):
    result = eval(case, {"xp": namespace, **values})
    return list(result) if isinstance(result, (tuple, list)) else [result]


@pytest.mark.filterwarnings("ignore:Degrees of freedom")
@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("case", CASES)
def test_values_are_numpys(case):
    with np.errstate(all="ignore"):
        expected = computed(case, np, VALUES)
    found = computed(case, xp, {name: ag.array(value) for name, value in VALUES.items()})
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        assert type(one) is ag.Tensor and one.shape == other.shape
        assert str(one.dtype) == str(other.dtype)
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-6 if one.dtype == "float32" else 1e-12, atol=1e-14)
        np.testing.assert_array_equal(np.signbit(one.numpy()), np.signbit(other))


@pytest.mark.parametrize("case", ["eigh(s)", "qr(s)", "qr(tall)", "qr(tall,mode='complete')", "qr(x)", "svd(x)", "svd(tall)", "svd(x,full_matrices=False)"])
def test_decompositions_give_the_matrix_back(case):
    values = {name: ag.array(value) for name, value in VALUES.items()}
    result = eval(f"xp.linalg.{case}", {"xp": xp, **values})
    expected = eval(f"xp.linalg.{case}", {"xp": np, **VALUES})
    assert result._fields == expected._fields
    assert [part.shape for part in result] == [part.shape for part in expected]
    parts = [part.numpy() for part in result]
    if case.startswith("eigh"):
        back = parts[1] * parts[0][..., None, :] @ np.swapaxes(parts[1], -1, -2)
    elif case.startswith("svd"):
        back = parts[0][..., :2] * parts[1][..., None, :] @ parts[2][..., :2, :]
    else:
        back = parts[0] @ parts[1]
    np.testing.assert_allclose(back, VALUES[re.search(r"\((\w+)", case).group(1)], atol=1e-14)


@pytest.mark.parametrize("case", [
    "acos(unit)", "acosh(x*x+1.5)", "asin(unit)", "asinh(x)", "atan(x)", "atanh(unit)", "atan2(x,y)", "atan2(y,x)", "copysign(x,y)", "tan(unit)",
    "logaddexp(x,y)", "reciprocal(x)", "prod(x,axis=1)", "cumulative_prod(x,axis=1)", "cumulative_sum(x,axis=0)", "diff(x)", "std(x)", "sort(x)",
    "tensordot(x,s,axes=((1,),(2,)))", "vecdot(x,y)", "take(x,at,axis=1)", "roll(x,1)", "linalg.det(s)", "linalg.inv(s)", "linalg.slogdet(s)",
    "linalg.solve(s,tall)", "linalg.solve(s,y)", "linalg.trace(s)", "linalg.matrix_norm(x,ord=1)", "linalg.vector_norm(x,ord=3)", "linalg.cross(x,y)",
    "linalg.matrix_power(s,3)", "linalg.matrix_power(s,-1)", "linalg.outer(y,y)"])
def test_gradients_are_those_of_differences(case):
    names = [name for name in ("x", "y", "s", "unit", "tall") if re.search(rf"\b{name}\b", case)]
    inputs = {name: ag.array(VALUES[name]).requires_grad_() for name in names}

    def total(values):
        result = computed(f"xp.{case}", xp, {"at": ag.array(VALUES["at"]), **values})[-1]
        return (result * ag.sin(ag.arange(1.0, result.size + 1)).reshape(result.shape)).sum()

    total(inputs).backward()
    for name in names:
        for place in np.ndindex(VALUES[name].shape):
            sides = []
            for step in (1e-5, -1e-5):
                moved = VALUES[name].copy()
                moved[place] += step
                sides.append(total({**{key: value.detach() for key, value in inputs.items()}, name: ag.array(moved)}).item())
            grad = ag.zeros_like(inputs[name]) if inputs[name].grad is None else inputs[name].grad
            assert grad[place].item() == pytest.approx((sides[0] - sides[1]) / 2e-5, abs=1e-7), (name, place)


@pytest.mark.parametrize("call", [
    xp.acos, lambda x: xp.atan2(x, x), lambda x: xp.copysign(x, x), xp.linalg.inv, xp.linalg.det, lambda x: xp.linalg.slogdet(x).logabsdet,
    lambda x: xp.linalg.solve(x, x)])
def test_a_gradient_keeps_no_memory(call):
    gc.collect()
    ag.wait_all()
    before = ag.memory()["live_bytes"]
    gc.disable()  # which would break a cycle
    try:
        x = (ag.eye(50) / 2).requires_grad_()
        call(x).sum().wait()  # backward() would forget the gradient's function
        del x
        ag.wait_all()
        assert ag.memory()["live_bytes"] == before
    finally:
        gc.enable()


@pytest.mark.parametrize("call", [
    lambda x: xp.nextafter(x, x), xp.linalg.svd, xp.linalg.svdvals, xp.linalg.qr, xp.linalg.eigh, xp.linalg.eigvalsh, xp.linalg.cholesky, xp.linalg.pinv])
def test_what_has_no_gradient_says_so(call):
    x = ag.array(SQUARE).requires_grad_()
    with pytest.raises(TypeError, match=r"has no gradient.* x.detach\(\)"):
        call(x)
    with ag.no_grad():
        call(x)
    call(x.detach())


def test_only_what_decides_a_shape_waits():
    go = threading.Event()
    x = ag.source("late", (2, 2), lambda out: (go.wait(60), out.__setitem__(..., [[2.0, 1.0], [1.0, 3.0]]))[1])
    i = x.astype("int64")
    late = [xp.acos(x / 4), xp.atan2(x, x), xp.signbit(x), i & 1, i << 2, ~i, xp.matmul(i, i), xp.linalg.inv(x), xp.linalg.solve(x, x), xp.sort(x),
            xp.searchsorted(x[0], x), *xp.linalg.svd(x), *xp.linalg.slogdet(x), xp.cumulative_prod(x, axis=0), xp.take(x, i % 2, axis=0), xp.clip(x, x, x)]
    go.set()
    assert all(np.isfinite(one.numpy()).all() for one in late)
    for function in (xp.nonzero, xp.unique_all, xp.unique_counts, xp.unique_inverse, xp.unique_values, xp.repeat):
        assert "Waits for" in function.__doc__


def test_equal_elements_stay_in_their_order():
    x = ag.array([2.0, 1.0, 2.0, 3.0, 1.0])
    assert xp.argsort(x).tolist() == [1, 4, 0, 2, 3] and xp.argsort(x, descending=True).tolist() == [3, 0, 2, 1, 4]
    assert xp.sort(x, descending=True).tolist() == [3, 2, 2, 1, 1]


def test_a_matrix_without_a_result_is_an_error_of_the_wait():
    y = xp.linalg.inv(ag.zeros(2, 2)) + 1
    with pytest.raises(ag.Error, match="inv.*Singular matrix") as raised:
        y.wait()
    assert raised.value.operation == "inv"


@pytest.mark.parametrize("call, error", [
    (lambda: xp.linalg.inv(ag.ones(2, 3)), ValueError), (lambda: xp.linalg.det(ag.ones(2)), ValueError), (lambda: xp.take(ag.ones(2, 2), ag.array([0])), ValueError),
    (lambda: xp.squeeze(ag.ones(2, 1), axis=0), ValueError), (lambda: xp.expand_dims(ag.ones(2), axis=3), IndexError), (lambda: xp.sum(ag.ones(2), axis=2), IndexError),
    (lambda: xp.prod(ag.ones(2), axis=1), IndexError), (lambda: xp.prod(ag.ones(2, 2), axis=(0, -2)), ValueError), (lambda: xp.nonzero(ag.ones(())), ValueError),
    (lambda: xp.cumulative_sum(ag.ones(2, 2)), ValueError), (lambda: xp.searchsorted(ag.ones(2), ag.ones(2), side="middle"), ValueError),
    (lambda: xp.isdtype(ag.float32, "float"), ValueError), (lambda: xp.result_type(1, 2.0), ValueError), (lambda: xp.finfo(ag.int32), ValueError),
    (lambda: xp.iinfo(ag.bool), ValueError), (lambda: xp.asarray(ag.ones(2), dtype="int64", copy=False), ValueError), (lambda: xp.asarray([1, 2], copy=False), ValueError),
    (lambda: ag.ones(2) & 1, TypeError), (lambda: ag.ones(2) << 1, TypeError), (lambda: ag.array([True]) << ag.array([True]), TypeError), (lambda: ag.array([1]) & 1.5, TypeError),
    (lambda: ag.array([1]) & "1", TypeError), (lambda: ag.array([1]) | ag.ones(1), TypeError), (lambda: xp.linalg.qr(ag.ones(2, 2), mode="raw"), ValueError),
    (lambda: xp.vecdot(ag.ones(2), ag.ones(3)), ValueError), (lambda: xp.tensordot(ag.ones(2, 3), ag.ones(2, 3), axes=1), ValueError),
    (lambda: xp.tensordot(ag.array([[1, 2]]), ag.array([[1, 2]]), axes=1), ValueError),
    (lambda: xp.matmul(ag.array([1, 2]), ag.array([1, 2, 3])), ValueError), (lambda: ag.ones(2).__array_namespace__(api_version="2020.1"), ValueError),
    (lambda: ag.ones(2).to_device("cpu", stream=1), ValueError), (lambda: ag.ones(2).mT, AttributeError),
    *((lambda name=name, pair=pair: getattr(xp, name)(*pair), TypeError) for name in ("add", "pow", "maximum", "logaddexp", "copysign", "nextafter", "atan2")
      for pair in ((2, 3.5), ([1], [2]), (10**400, 2**63), (1, ag.float32)))])
def test_mistakes_raise_at_the_call(call, error):
    with pytest.raises(error):
        call()


def test_tensordot_takes_every_type():
    for dtype in ("bfloat16", "float64", "int64", "uint8", "bool"):
        x = ag.array(np.arange(6).reshape(2, 3)).astype(dtype)
        y = xp.tensordot(x, x, axes=((0, -1), [0, 1]))
        assert y.dtype == dtype and y.astype("int64").item() == (dtype == "bool" or 55)


def test_operators_of_bits_work_in_place_and_beside_arrays():
    x = kept = ag.array(I)
    x &= 6
    x |= 1
    x <<= 2
    assert kept is x and x.tolist() == (((I & 6) | 1) << 2).tolist()
    assert (ag.array(I) & I).tolist() == (I & I).tolist() and (I | ag.array(I)).tolist() == I.tolist()
    assert (ag.array(I) & (ag.array(I) > 0)).tolist() == (I & (I > 0)).tolist()


def test_the_namespace_says_what_it_can():
    x = ag.ones(2)
    assert x.__array_namespace__() is x.__array_namespace__(api_version="2024.12") is xp
    info = xp.__array_namespace_info__()
    assert info.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 6}
    assert info.default_device() == x.device and x.device in info.devices()
    assert info.default_dtypes() == {"real floating": "float64", "integral": "int64", "indexing": "int64"}
    assert set(info.dtypes()) == {"bool", "int32", "int64", "uint8", "float32", "float64"}
    assert set(info.dtypes(kind=("bool", "unsigned integer"))) == {"bool", "uint8"}
    assert info.dtypes(kind="complex floating") == {}


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_the_limits_of_floating_types(name):
    for attribute in ("bits", "eps", "max", "min", "smallest_normal"):
        assert getattr(xp.finfo(name), attribute) == float(getattr(np.finfo(name), attribute)), attribute
    assert type(xp.finfo(ag.ones(2, dtype=name)).max) is float and xp.finfo(name).dtype == name


def test_types():
    for name in ("int32", "int64", "uint8"):
        assert (xp.iinfo(name).min, xp.iinfo(name).max, xp.iinfo(name).bits) == (np.iinfo(name).min, np.iinfo(name).max, np.iinfo(name).bits)
    one = ag.ones((), dtype="bfloat16")
    eps = xp.finfo("bfloat16").eps
    assert (one + eps).item() == 1 + eps and (one + eps / 2).item() == 1
    assert xp.result_type(ag.float32, ag.ones(2, dtype="float64"), 3) == ag.float64
    assert xp.result_type(ag.uint8, ag.int32) == ag.int32 and xp.result_type(ag.int32, 1) == ag.int32
    assert xp.can_cast(ag.uint8, ag.int32) and not xp.can_cast(ag.array([1]), ag.int32)
    assert xp.isdtype(ag.bfloat16, "real floating") and xp.isdtype(ag.int32, (ag.bool, "integral")) and not xp.isdtype(ag.bool, "numeric")


def test_a_copy_is_made_when_it_is_asked_for():
    x = ag.ones(2)
    assert xp.asarray(x) is x and xp.asarray(x, copy=False) is x
    for copied in (xp.asarray(x, copy=True), xp.from_dlpack(x, copy=True), xp.reshape(x, (2, 1), copy=True)):
        copied[0] = 5
    assert x.tolist() == [1, 1]
    array = np.zeros(2)
    xp.asarray(array, copy=False)[0] = 7
    assert array.tolist() == [7, 0]


def test_results_are_where_their_tensors_are():
    try:
        ag.set_engine_options(cpu_parts=2)
        assert xp.__array_namespace_info__().devices() == ["cpu", "cpu:1"]
        x = xp.asarray(SQUARE, device="cpu:1")
        made = [xp.asarray(ag.ones(2), device="cpu:1"), xp.from_dlpack(ag.ones(2), device="cpu:1"), xp.zeros_like(x), ag.ones(2).to_device("cpu:1")]
        computed = [xp.acos(x), xp.atan2(x, 1.0), xp.prod(x), xp.cumulative_prod(x, axis=0, include_initial=True), xp.linalg.diagonal(x), xp.linalg.inv(x),
                    xp.linalg.matrix_power(x, 0), *xp.linalg.svd(x), xp.repeat(x, 2), xp.unique_all(x).indices, x.astype("int64") & 3]
        for one in made + computed:
            assert one.device == "cpu:1" and one.numpy() is not None
        assert xp.zeros_like(x, device="cpu").device == "cpu"
    finally:
        ag.set_engine_options(cpu_parts=1)


def test_a_class_of_tensors_stays():
    torch = pytest.importorskip("asyncgrad.torch")
    x = torch.ones(2, 2)
    for found in (xp.acos(x), xp.sort(x), xp.linalg.svd(x).S, xp.atan2(x, 1.0), xp.atan2(1.0, x), x.astype("int64") & 1, 1 << x.astype("int64"), xp.cumulative_sum(x, axis=0)):
        assert type(found) is torch.Tensor


def test_bfloat16_is_computed_in_float32():
    x = ag.array([0.5, 0.25], "bfloat16")
    for found, expected in ((xp.acos(x), np.arccos([0.5, 0.25])), (xp.atan2(x, x), [np.pi / 4] * 2), (xp.linalg.det(x * ag.eye(2).astype("bfloat16")), 0.125)):
        assert found.dtype == "bfloat16"
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-2)


def test_arguments_at_the_edges():
    x = ag.array([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(TypeError):
        xp.linalg.matrix_power(x, 2.5)
    power = xp.linalg.matrix_power(x, 1)
    power += 1
    assert x.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(ValueError, match="n must be at least 0, got -1"):
        xp.diff(x, n=-1)
    assert xp.linalg.vector_norm(ag.array(-3.0)).item() == 3
    assert xp.take(ag.arange(300), ag.array([1, 200], "uint8")).tolist() == [1, 200]
    assert xp.count_nonzero(ag.array([0.0, 2.0]), axis=()).dtype == ag.int64
