"""Libraries that take any array: einops, opt_einsum and array_api_compat."""
import numpy as np
import pytest

import asyncgrad as ag

X = np.arange(48, dtype="float32").reshape(2, 4, 6)


def same(found, expected):
    assert type(found) is ag.Tensor
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5)


@pytest.fixture(params=["einops", "einops.array_api"])
def einops(request):
    pytest.importorskip("einops")
    pytest.importorskip("asyncgrad.einops")
    return pytest.importorskip(request.param)


def test_einops_takes_tensors(einops):
    import einops as plain

    for call in (lambda e, x: e.rearrange(x, "n (a b) c -> n c a b", a=2), lambda e, x: e.reduce(x, "n h w -> n w", "max"),
                 lambda e, x: e.reduce(x, "n (h k) w -> n h w", "mean", k=2), lambda e, x: e.repeat(x, "n h w -> n h r w", r=3),
                 lambda e, x: e.rearrange([x, x], "k n h w -> n k h w"), lambda e, x: e.pack([x, x[:, 0]], "n * w")[0]):
        same(call(einops, ag.array(X)), call(plain, X))
    packed, shapes = einops.pack([ag.array(X), ag.array(X[:, 0])], "n * w")
    for found, expected in zip(einops.unpack(packed, shapes, "n * w"), (X, X[:, 0]), strict=True):
        same(found, expected)


def test_gradients_go_through_einops(einops):
    x = ag.array(X).requires_grad_()
    (einops.reduce(einops.rearrange(x, "n h w -> h (n w)"), "h k -> h", "sum") * ag.arange(4)).sum().backward()
    same(x.grad, np.broadcast_to(np.arange(4)[None, :, None], X.shape))


def test_opt_einsum_takes_tensors():
    opt_einsum = pytest.importorskip("opt_einsum")
    operands = [np.random.default_rng(0).random(shape).astype("float32") for shape in ((3, 4), (4, 5), (5, 2))]
    found = opt_einsum.contract("ij,jk,kl->il", *map(ag.array, operands))
    same(found, np.einsum("ij,jk,kl->il", *operands))


def test_array_api_compat_takes_tensors():
    compat = pytest.importorskip("array_api_compat")
    x = ag.array(X)
    assert compat.array_namespace(x, 1.0) is ag.array_api and compat.is_array_api_obj(x)
    assert compat.device(x) == "cpu" and compat.size(x) == 48
    same(compat.to_device(x, "cpu"), X)
    with pytest.raises(TypeError, match="Multiple namespaces"):
        compat.array_namespace(x, X)
