"""Memory and values that go to other libraries and back."""
import copy
import gc
import pickle
import threading
import time
import weakref

import numpy as np
import pytest

import asyncgrad as ag


def test_numpy_shares():
    x = ag.zeros(2, 3)
    a = np.asarray(x)
    a[0, 1] = 5
    assert x[0, 1].item() == 5 and np.shares_memory(a, np.asarray(x)) and np.shares_memory(a, x.numpy())
    assert not np.shares_memory(np.array(x), a)
    del x
    gc.collect()
    assert a[0, 1] == 5
    assert np.asarray(ag.zeros(0, 3)).shape == (0, 3)
    assert np.asarray(ag.ones(2), dtype="float64").dtype == np.float64
    assert memoryview(ag.ones(2, 3)).shape == (2, 3)


def test_from_numpy_shares():
    a = np.ones((2, 3), "float32")
    x = ag.from_numpy(a)
    x += 1
    ag.wait_all()
    assert a[0, 0] == 2
    gone = weakref.ref(a)
    del a
    y = x * 2
    del x
    assert y.tolist() == [[4] * 3] * 2
    ag.wait_all()
    for _ in range(3):
        gc.collect()
    assert gone() is None
    with pytest.raises(ValueError, match=r"memory that is read-only; array\(\) copies it"):
        ag.from_numpy(np.broadcast_to(np.ones(3), (2, 3)))
    with pytest.raises(ValueError, match=r"in C order: shape \(3,\), strides \(-8,\); array\(\) copies them"):
        ag.from_numpy(np.ones(3)[::-1])
    with pytest.raises(TypeError):
        ag.from_numpy(np.ones(2, "complex64"))


def by_capsule(x):
    return ag.from_dlpack(type("Taken", (), {"__dlpack__": lambda self: x.__dlpack__()})())


@pytest.mark.parametrize("share", [lambda x: ag.from_numpy(x.numpy()), lambda x: ag.from_numpy(np.asarray(memoryview(x))),
                                   lambda x: ag.from_dlpack(x.numpy()), by_capsule])
def test_what_a_tensor_has_given_away_comes_back_as_its_own(share):
    x = ag.arange(6).astype("float32").reshape(2, 3)
    y = share(x)
    assert y.shape == x.shape and y.dtype == x.dtype
    may_go = threading.Event()

    def fill(out):
        may_go.wait()
        out.fill(10)

    x += ag.source("late", (2, 3), fill)
    z = y * 1
    time.sleep(0.05)
    is_early = z.is_ready()
    may_go.set()
    assert not is_early and z.tolist() == y.tolist() == [[10, 11, 12], [13, 14, 15]]
    y -= 10
    assert (x + 0).tolist() == [[0, 1, 2], [3, 4, 5]] and not y.requires_grad
    w = ag.parameter(ag.ones(3))
    assert not share(w).requires_grad
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None and (y + 0).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_part_of_an_array_of_a_tensor_is_a_part_of_the_tensor():
    x = ag.zeros(4, 3)
    a = x.numpy()
    parts = [ag.from_numpy(a[1:3]), ag.from_numpy(a.reshape(-1)[4:7]), ag.from_dlpack(a[2]), ag.from_numpy(a[3, 2:]), ag.from_numpy(x[1:].numpy()[1:])]
    assert [part.shape for part in parts] == [(2, 3), (3,), (3,), (1,), (2, 3)]
    for number, part in enumerate(parts):
        part += 10 ** number
    assert (x + 0).tolist() == [[0, 0, 0], [1, 11, 11], [10111, 10101, 10101], [10000, 10000, 11000]]
    assert ag.from_numpy(a[:0]).shape == (0, 3)
    bits = ag.from_numpy(a.view("int32"))  # of another type: the memory alone
    assert bits[0, 0].item() == 0 and np.shares_memory(bits.numpy(), a)


def test_memory_of_an_array_that_was_shared_twice():
    a = np.zeros(4, "float32")
    x = ag.from_numpy(a)
    y = ag.from_numpy(x.numpy())
    for _ in range(100):
        x += 1
        y += 1
    ag.wait_all()
    assert a.tolist() == [200] * 4


def test_arrays_of_tensors_end_on_any_thread():
    def share():
        for i in range(300):
            x = ag.full((3,), i)
            y = by_capsule(x) if i % 3 else ag.from_numpy(x[1:].numpy())
            del x
            assert y.tolist() == [i] * y.size
        done.append(True)

    done = []
    threads = [threading.Thread(target=share) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 4


def test_shared_arrays_go_while_the_main_thread_waits_for_another():
    arrays = []  # weakly

    def train():
        for _ in range(20):
            a = np.ones(1000, "float32")
            arrays.append(weakref.ref(a))
            y = ag.from_numpy(a) + 1
            del a
            y.wait()
        for _ in range(1000):  # an operation's inputs go soon after it has ended
            ag.wait_all()
            if all(a() is None for a in arrays):
                break
            time.sleep(0.001)
        left.append(sum(a() is not None for a in arrays))

    left = []
    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
    assert left == [0]


def test_dlpack():
    x = ag.arange(6).astype("float32").reshape(2, 3)
    a = np.from_dlpack(x)
    assert np.shares_memory(a, np.asarray(x)) and a.tolist() == [[0, 1, 2], [3, 4, 5]]
    b = np.arange(4.0)
    y = ag.from_dlpack(b)
    y *= 2
    ag.wait_all()
    assert b.tolist() == [0, 2, 4, 6]
    x.__dlpack__()  # a capsule that nobody takes
    copied = ag.from_dlpack(type("Copied", (), {"__dlpack__": lambda self: x.__dlpack__(copy=True)})())
    x[0, 0] = 9
    assert copied[0, 0].item() == 0 and not np.shares_memory(np.asarray(copied), np.asarray(x))
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(ValueError):
        ag.from_dlpack(np.arange(8.0)[::2])


@pytest.mark.parametrize("name", ["float32", "float64", "int64", "int32"])
def test_arrays_of_another_byte_order_are_copied_but_not_shared(name):
    a = np.arange(3).astype(np.dtype(name).newbyteorder())
    assert not a.dtype.isnative
    with pytest.raises(TypeError, match="byte order"):
        ag.from_numpy(a)
    assert ag.array(a).dtype == name and ag.array(a).tolist() == [0, 1, 2]


@pytest.mark.parametrize("share", [ag.from_numpy, ag.from_dlpack])
@pytest.mark.parametrize("name", ["float32", "float64", "int64", "int32"])
def test_unaligned_arrays_are_copied_but_not_shared(share, name):
    a = np.zeros(33, "uint8")[1:].view(name)
    a[:] = range(a.size)
    assert not a.flags.aligned
    with pytest.raises(ValueError, match="aligned"):
        share(a)
    assert ag.array(a).tolist() == list(range(a.size))


def test_dlpack_of_arrays_without_elements():
    for shape in ((0,), (3, 0), (0, 3), (2, 0, 3)):
        assert ag.from_dlpack(np.zeros(shape, "float32")).shape == shape
        assert np.from_dlpack(ag.zeros(*shape)).shape == np.asarray(ag.zeros(*shape)).shape == shape


@pytest.mark.parametrize("name", ["int8", "uint16", "float16", "complex64"])
def test_types_that_cannot_be_shared_are_named(name):
    for share in (ag.from_numpy, ag.from_dlpack):
        with pytest.raises(TypeError, match=f"a tensor cannot share elements of type {name}; "):
            share(np.ones(2, name))


def test_arrays_of_other_types():
    assert ag.array(np.arange(3, dtype="int8")).tolist() == [0, 1, 2]
    assert ag.array(np.asfortranarray(np.arange(6.0).reshape(2, 3))).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert ag.array([ag.ones(2), ag.zeros(2)]).tolist() == [[1, 1], [0, 0]]
    assert ag.array(ag.ones(2), dtype="int64").dtype == ag.int64
    assert (np.ones(2, "float32") * ag.ones(2)).dtype == ag.float32


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies(copier):
    x = ag.randn(3, 4).requires_grad_()
    y = copier(x)
    assert ag.array_equal(x, y) and y.requires_grad and y.dtype == x.dtype
    with ag.no_grad():
        y += 1
    assert not ag.array_equal(x, y)
    net = ag.nn.Sequential(ag.nn.Dense(2, 3, "relu"), ag.nn.Dense(3, 1))
    other = copier(net)
    x = ag.randn(5, 2)
    assert ag.array_equal(net(x), other(x)) and other.parameters()[0]._address() != net.parameters()[0]._address()
