"""The names of PyTorch that the chapters use."""
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from asyncgrad import torch


def test_creation_and_products():
    for function in (torch.randn, torch.rand, torch.ones, torch.zeros):
        for x in (function(2, 3), function((2, 3)), function(size=(2, 3), device="cpu")):
            assert x.shape == (2, 3) and isinstance(x, torch.Tensor)
    x = torch.randn(4, 4)
    expected = np.asarray(x) @ np.asarray(x)
    for y in (torch.mm(x, x), x.mm(x), x @ x):
        np.testing.assert_allclose(np.asarray(y), expected, rtol=1e-5, atol=1e-6)
    assert repr(torch.ones(1, 2) * 3) == "tensor([[3., 3.]])"


def test_to():
    x, other = torch.ones(2, 3), torch.zeros(1).to("float64")
    for y in (x.to("float64"), x.to(dtype="float64"), x.to("cpu", "float64"), x.to(device="cpu", dtype="float64"), x.to(other),
              x.to("cpu", "float64", True, copy=True), x.to(other, non_blocking=True), x.to("cpu", dtype="float64")):
        assert y.dtype == "float64" and y.device == "cpu" and y.shape == x.shape and isinstance(y, torch.Tensor)
    for same in (x.to("cpu"), x.to(device="cpu"), x.to(x), x.to("cpu", True), x.to("float32", non_blocking=True)):
        assert same is x
    for copied in (x.to("cpu", copy=True), x.to("cpu", False, True), x.to(x, copy=True)):
        copied += 1
        assert isinstance(copied, torch.Tensor) and x.tolist() == [[1] * 3] * 2
    w = torch.ones(2).requires_grad_()
    (w.to(dtype="float64") * 3).sum().backward()
    assert w.grad.tolist() == [3, 3] and w.grad.dtype == "float32"


@pytest.mark.parametrize("kind, call", [
    (TypeError, lambda: torch.ones(2).to()), (TypeError, lambda: torch.ones(2).to("cpu", True, False, 3)),
    (TypeError, lambda: torch.ones(2).to(device="gpu")), (TypeError, lambda: torch.ones(2).to(dtype="float128")),
    (ValueError, lambda: torch.mm(torch.ones(3), torch.ones(3, 4))), (ValueError, lambda: torch.ones(2, 3).mm(torch.ones(3))),
    (ValueError, lambda: torch.mm(torch.ones(5, 2, 3), torch.ones(5, 3, 4))), (ValueError, lambda: torch.mm(torch.ones(2, 3), 2)),
    (TypeError, lambda: torch.ones(2, size=(3,))), (TypeError, lambda: torch.randn())])
def test_what_pytorch_refuses(kind, call):
    with pytest.raises(kind):
        call()


def test_a_program_on_two_devices():
    done = subprocess.run([sys.executable, "-c", textwrap.dedent("""
        import asyncgrad as ag
        from asyncgrad import torch
        assert not torch.cuda.is_available()
        ag.set_engine_options(cpu_parts=3)
        assert torch.cuda.is_available() and torch.cuda.device_count() == 2
        x = [torch.rand(50, 50, device=f"cpu:{i}") for i in (1, 2)]
        products = [[a.mm(a) for _ in range(3)] for a in x]
        copies = [y.to("cpu", non_blocking=True) for y in products[0]]
        torch.cuda.synchronize()
        torch.cuda.synchronize("cpu:1")
        assert copies[0].device == "cpu" and ag.array_equal(copies[0], x[0].to("cpu").mm(x[0].to("cpu")))
        print(torch.ones(1, 1, device="cpu:1"))
        """)], capture_output=True, text=True, timeout=120)
    assert done.stdout == "tensor([[1.]], device='cpu:1')\n", done.stderr
