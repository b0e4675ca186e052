"""GPUs by their names here and in other libraries; on a machine without one, those that a test makes up."""
import collections
import ctypes
from typing import NamedTuple

import numpy as np
import pytest

import asyncgrad as ag
from asyncgrad import d2l, mxnet, torch

HAS_GPU = ag.why_no_gpu() == ""
on_a_gpu = pytest.mark.skipif(not HAS_GPU, reason=ag.why_no_gpu())


@pytest.fixture
def two_made_up(monkeypatch):
    cpu = ag.devices()[0]
    gpus = [{"device": f"cuda:{i}", "name": f"GPU number {i}", "memory_bytes": 1, "capability": 90} for i in range(2)]
    for module in (ag, ag._core):
        monkeypatch.setattr(module, "devices", lambda: [cpu, *gpus])


def test_devices():
    cpu, *gpus = ag.devices()
    assert cpu["device"] == "cpu" and cpu["name"] and cpu["capability"] == 0
    assert 0 < ag.free_bytes("cpu") <= cpu["memory_bytes"]
    assert bool(gpus) == HAS_GPU
    with pytest.raises(ValueError, match="there is no cpu:5 here"):
        ag.free_bytes("cpu:5")


def test_names_of_other_libraries(two_made_up):
    assert torch.cuda.is_available() and torch.cuda.device_count() == 2
    assert torch.cuda.get_device_name(1) == torch.cuda.get_device_name("cuda:1") == "GPU number 1"
    assert mxnet.num_gpus() == 2 and d2l.try_all_gpus() == [mxnet.gpu(0), mxnet.gpu(1)]
    assert mxnet.gpu(1).__asyncgrad_device__ == "cuda:1" and mxnet.context.of_device("cuda:1") == mxnet.gpu(1)
    with pytest.raises(ValueError, match=r"there is no gpu\(2\); cpu_as_gpus"):
        mxnet.np.ones(1, ctx=mxnet.gpu(2))


def test_parts_of_the_cpu_go_before_gpus(two_made_up):
    mxnet.cpu_as_gpus(1)
    try:
        assert mxnet.num_gpus() == torch.cuda.device_count() == 1
        assert mxnet.gpu(0).__asyncgrad_device__ == "cpu:1" and mxnet.context.of_device("cpu:1") == mxnet.gpu(0)
    finally:
        ag.set_engine_options(cpu_parts=1)


@pytest.mark.skipif(HAS_GPU, reason="there is a GPU")
def test_without_a_gpu_the_reason_is_told():
    assert not torch.cuda.is_available() and d2l.try_gpu() == mxnet.cpu()
    with pytest.raises(ValueError, match=r"there is no gpu\(0\) \(.*\); cpu_as_gpus"):
        mxnet.np.ones(1, ctx=mxnet.gpu(0))


def batches(**options):
    values = np.arange(6, dtype=np.float32)
    return list(mxnet.gluon.data.DataLoader(mxnet.gluon.data.ArrayDataset(values, 2 * values), 4, **options))


@pytest.mark.skipif(HAS_GPU, reason="there is a GPU")
def test_without_a_gpu_nothing_is_pinned():
    x = mxnet.np.ones((2, 3))
    with pytest.raises(ValueError, match=r"\[pin_memory\] memory is pinned for copies between it and a GPU, and there is no "
                                         r"cuda:0.*test_gpus\.py"):
        x.pin_memory()
    assert not x.is_pinned() and not torch.ones(3).is_pinned()
    assert x.as_in_ctx(mxnet.cpu_pinned()) is x and not x.copyto(mxnet.cpu_pinned()).is_pinned()
    for options in ({}, {"num_workers": 2}):
        found = batches(pin_memory=True, **options)
        assert [[part.tolist() for part in batch] for batch in found] == [[part.tolist() for part in batch]
                                                                          for batch in batches(**options)]


def test_pinned_memory_of_others_is_the_cpus():
    class Pinned:
        """An array of NumPy that says that its memory is pinned."""
        values = np.arange(3, dtype=np.float32)

        def __dlpack_device__(self):
            return 3, 0

        def __dlpack__(self):
            capsule = self.values.__dlpack__()
            get = ctypes.pythonapi.PyCapsule_GetPointer
            get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
            ctypes.c_int32.from_address(get(capsule, b"dltensor") + ctypes.sizeof(ctypes.c_void_p)).value = 3
            return capsule

    x = ag.from_dlpack(Pinned())
    assert x.device == "cpu" and x.tolist() == [0, 1, 2] and not x.is_pinned()


def test_arrays_are_pinned_where_they_are(monkeypatch):
    def pinned(x):
        given.append(x)
        return x + 1

    given = []
    monkeypatch.setattr(mxnet.multiarray, "pinned", pinned)
    mxnet.cpu_as_gpus(1)
    try:
        for x in mxnet.np.ones(3), mxnet.np.ones(3, ctx=mxnet.gpu()):
            for move in mxnet.np.ndarray.as_in_ctx, mxnet.np.ndarray.copyto:
                assert move(x, mxnet.cpu_pinned()).tolist() == [2, 2, 2]
                assert given.pop() is x and not given
    finally:
        ag.set_engine_options(cpu_parts=1)


def test_all_arrays_of_a_batch_on_the_cpu_are_pinned(monkeypatch):
    class Pair(NamedTuple):
        x: object
        y: object

    pinned = []
    monkeypatch.setattr(mxnet.gluon.data, "_pinned", lambda x: pinned.append(x) or x)
    mxnet.cpu_as_gpus(1)
    try:
        arrays = [mxnet.np.ones(3) for _ in range(4)]
        batch = collections.OrderedDict(pair=Pair(arrays[0], [arrays[1], 5]), there=arrays[2].as_in_ctx(mxnet.gpu()),
                                        last=(arrays[3],))
        loader = mxnet.gluon.data.DataLoader([0], 1, batchify_fn=lambda _: batch, pin_memory=True)
        found, = loader
        assert type(found) is collections.OrderedDict and found == batch and found is not batch
        assert type(found["pair"]) is Pair and type(found["last"]) is tuple
        assert len(pinned) == 3 and all(x is y for x, y in zip(pinned, [arrays[0], arrays[1], arrays[3]]))
    finally:
        ag.set_engine_options(cpu_parts=1)


@on_a_gpu
def test_pinned_tensors():
    x = mxnet.np.ones((2, 3)).as_in_ctx(mxnet.cpu_pinned())
    assert x.is_pinned() and x.pin_memory() is x and x[0].is_pinned() and not (x + 1).is_pinned()
    assert x.to("cuda:0").pin_memory().tolist() == x.tolist() == np.from_dlpack(x).tolist()
    assert x.as_in_ctx(mxnet.cpu_pinned()) is x
    for y in x, x + 0, x.to("cuda:0"):
        copied = y.copyto(mxnet.cpu_pinned())
        assert copied.is_pinned() and copied is not y and copied.tolist() == x.tolist()
    assert all(part.is_pinned() for batch in batches(pin_memory=True) for part in batch)


@on_a_gpu
def test_a_training_on_a_gpu():
    def train(device):
        ag.manual_seed(3)
        net = ag.nn.Sequential(ag.nn.Dense(8, 16, "relu"), ag.nn.Dense(16, 1))
        net.to(device)
        sgd = ag.optim.SGD(net.parameters(), lr=0.1)
        x, y = ag.randn(32, 8).to(device), ag.randn(32, 1).to(device)
        losses = []
        for _ in range(10):
            loss = ag.nn.l2_loss(net(x), y).mean()
            sgd.zero_grad()
            loss.backward()
            sgd.step()
            losses.append(loss)
        return [loss.item() for loss in losses]

    np.testing.assert_allclose(train("cuda:0"), train("cpu"), rtol=1e-4)
    assert ag.memory("cuda:0")["peak_live_bytes"] > 0 and ag.free_bytes("cuda:0") > 0


@on_a_gpu
def test_gpus_under_mxnets_names():
    x = mxnet.np.ones((2, 3), ctx=d2l.try_gpu())
    assert x.ctx == mxnet.gpu(0) and (x + x).sum().item() == 12


@on_a_gpu
def test_memory_of_a_gpu_goes_to_pytorch_and_back():
    pytorch = pytest.importorskip("torch")
    x = ag.arange(6, device="cuda:0", dtype=ag.float32).reshape(2, 3)
    assert x.__dlpack_device__() == (2, 0)
    shared = pytorch.from_dlpack(x)
    assert shared.device.type == "cuda" and shared.tolist() == x.tolist()
    shared += 1  # in the same memory
    pytorch.cuda.synchronize()
    assert x.tolist() == [[1, 2, 3], [4, 5, 6]]
    y = pytorch.full((1000, 1000), 2.0, device="cuda") @ pytorch.ones(1000, 1000, device="cuda")
    copied = ag.from_dlpack(y)
    assert copied.device == "cuda:0" and (copied - 2000).abs().max().item() == 0
    del x, shared, copied
    with pytest.raises(TypeError, match="cannot share elements of type complex64"):
        ag.from_dlpack(y.to(pytorch.complex64))
    with pytest.raises(ValueError, match="row by row"):
        ag.from_dlpack(y.t())
