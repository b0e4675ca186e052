"""Operations, gradients and sources of the program's own."""
import gc
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import asyncgrad as ag


def test_a_host_function():
    def reversed_into(out, x):
        out[...] = x[::-1]

    y = ag.custom("reversed", ((3,), "float32"), [ag.array([1.0, 2.0, 3.0])], reversed_into)
    assert y.tolist() == [3, 2, 1]


def test_several_results():
    def both(low, high, x):
        low[...], high[...] = x.min(), x.max()

    low, high = ag.custom("range", [((), "float64"), ((), "float64")], [ag.array(np.arange(4.0))], both)
    assert (low.item(), high.item()) == (0, 3)


def test_a_shape_of_integers_of_numpy():
    assert ag.custom("zeros", (2, np.int64(3)), [], lambda out: out.fill(0)).shape == (2, 3)


def test_inputs_are_read_only():
    def write(out, x):
        x[0] = 1

    with pytest.raises(ag.Error, match="ValueError"):
        ag.custom("write", (1,), [ag.ones(1)], write).wait()


def test_exceptions_are_errors_of_the_operation():
    def fail(out):
        raise KeyError("nothing here")

    y = ag.custom("fail", (1,), [], fail)
    with pytest.raises(ag.Error, match=r"\[fail\] KeyError.*nothing here") as caught:
        y.wait()
    assert caught.value.file == __file__


def test_a_function_may_not_wait():
    def wait(out):
        ag.ones(2).sum().item()

    with pytest.raises(ag.Error, match="wait|queue"):
        ag.custom("wait", (1,), [], wait).wait()


def test_a_gradient():
    def cubed(x):
        return ag.with_gradient("cubed", x.detach() ** 3, [x], lambda dy: dy * 3 * x.detach() ** 2)

    x = ag.array([1.0, 2.0]).requires_grad_()
    cubed(x).sum().backward()
    assert x.grad.tolist() == [3, 12]


def test_a_gradient_of_what_was_saved():
    def cubed(x):
        return ag.with_gradient("cubed", x.detach() ** 3, [x], lambda dy, x: dy * 3 * x ** 2, saved=[x])

    x = ag.array([1.0, 2.0]).requires_grad_()
    cubed(x).sum().backward()
    assert x.grad.tolist() == [3, 12]
    y = cubed(x).sum()
    with ag.no_grad():
        x += 1
    with pytest.raises(ValueError, match=r"\[cubed\].*written in place"):
        y.backward()


@pytest.mark.parametrize("function", [
    *(getattr(np, name) for name in ("arccos", "arcsin", "arctan", "arcsinh", "arctanh")), lambda x: np.arctan2(x, 2.0), lambda x: np.arctan2(2.0, x), lambda x: np.copysign(x, 1.0),
    *(getattr(ag.array_api.linalg, name) for name in ("det", "inv", "slogdet")),
])
def test_functions_of_numpy_notice_what_was_written_in_place(function):
    def loss():
        y = function(x)
        return (y[1] if isinstance(y, tuple) else y).sum()

    x = ag.array([[0.5, 0.2], [0.1, 0.4]]).requires_grad_()
    expected = ag.grad(loss(), [x])[0]
    y = loss()
    (gradient,) = ag.grad(y, [x])
    assert gradient.tolist() == expected.tolist()
    y = function(x)
    if function is ag.array_api.linalg.inv:  # it needs the result alone
        y *= 2
        y = y.sum()
    else:
        y = loss()
        with ag.no_grad():
            x *= 0.5
    with pytest.raises(ValueError, match="written in place"):
        y.backward()


def test_an_exception_in_a_gradient():
    def fail(dy):
        raise KeyError("no gradient")

    x = ag.ones(1).requires_grad_()
    with pytest.raises(KeyError, match="no gradient"):
        ag.with_gradient("fails", x.detach(), [x], fail).backward()


@pytest.mark.parametrize("queue", [
    lambda fail: ag.custom("own", (1,), [ag.ones(1)], fail).wait(),
    lambda fail: ag.source("own", (1,), fail).wait(),
    lambda fail: ag.with_gradient("own", ag.ones(1), [ag.ones(1).requires_grad_()], fail).backward(),
    lambda fail: ag.nn.Lambda(fail)(ag.ones(1)),
    lambda fail: ag.nn.recompute(fail, ag.ones(1).requires_grad_()),
    lambda fail: ag.nn.Dense(2, 2, initialiser=fail),
    lambda fail: ag.nn.Dense(2, 2, activation=fail)(ag.ones(1, 2)),
    lambda fail: list(ag.data.progress(range(3), type("Bar", (), {"update": fail})())),
    lambda fail: ag.optim.Schedule(ag.optim.SGD([ag.ones(1).requires_grad_()], lr=0.1), fail).step(),
])
def test_every_callback_may_raise(queue):
    def fail(*_, **__):
        raise LookupError("own words")

    with pytest.raises((LookupError, ag.Error), match="own words") as caught:
        queue(fail)
    raised = caught.value.__cause__ if isinstance(caught.value, ag.Error) else caught.value
    assert type(raised) is LookupError
    ag.recover()
    assert (ag.ones(3) + 1).sum().item() == 6


def test_an_exception_when_a_function_goes():
    class Held:
        def __del__(self):
            raise LookupError("ignored")

    held = Held()
    unraised = []
    before, sys.unraisablehook = sys.unraisablehook, unraised.append
    try:
        ag.custom("own", (1,), [], lambda out, held=held: out.fill(1)).wait()
        del held
        ag.set_engine_options(queue_capacity=1024)  # records of finished operations go
        for _ in range(200):
            if unraised:
                break
            time.sleep(0.01)
    finally:
        sys.unraisablehook = before
        ag.set_engine_options(queue_capacity=4096)
    assert [type(one.exc_value) for one in unraised] == [LookupError]


def test_a_source_runs_ahead():
    batches = [ag.source("read", (2,), lambda out, i=i: (time.sleep(0.01), out.fill(i))) for i in range(5)]
    assert [b.sum().item() for b in batches] == [0, 2, 4, 6, 8]


def test_what_a_function_holds_goes():
    class Held:
        pass

    held = Held()
    gone = weakref.ref(held)

    def function(out, held=held):
        out[...] = 1

    ag.custom("holds", (1,), [], function).wait()
    del held, function
    for _ in range(100):
        ag.custom("other", (1,), [], lambda out: out.fill(0)).wait()
    ag.set_engine_options(queue_capacity=1024)  # records of finished operations go
    for _ in range(100):
        gc.collect()
        if gone() is None:
            break
        time.sleep(0.01)
    ag.set_engine_options(queue_capacity=4096)
    assert gone() is None


def test_batches():
    images, labels = np.arange(20.0, dtype="float32").reshape(10, 2), np.arange(10)
    batches = ag.data.Batches((images, labels), batch_size=4)
    seen = []
    for x, y in batches:
        assert np.asarray(x)[:, 0].tolist() == [2 * label for label in y.tolist()]
        seen += y.tolist()
    assert sorted(seen) == list(range(10)) and seen != list(range(10)) and len(batches) == 3
    again = [y.tolist() for _, y in batches]
    assert sum(again, []) != seen
    assert next(iter(ag.data.Batches(np.array([0.5, 1.5], "float16"), 2, shuffled=False)))[0].tolist() == [0.5, 1.5]
    plain = ag.data.Batches([(row, int(label)) for row, label in zip(images, labels)], batch_size=5, shuffled=False)
    assert [y.tolist() for _, y in plain] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]


def test_progress():
    class Bar:
        done = 0

        def update(self, n):
            self.done += n

    bar = Bar()
    for i in ag.data.progress(range(20), bar):
        ag.randn(100, 100) @ ag.randn(100, 100)
    assert bar.done == 20


def test_progress_counts_no_step_whose_last_operation_is_queued():
    ag.set_engine_options(workers=1)
    held = threading.Event()

    class Bar:
        done = 0

        def update(self, n):
            self.done += n

    bar = Bar()
    counted = []
    for step in ag.data.progress(range(8), bar):
        waits = ag.custom("waits", (4,), [], lambda out: held.wait())
        for _ in range(100):
            ag.zeros(4)  # computed at the call
        waits + 1
        counted.append(bar.done)
        if step == 7:
            held.set()
    assert counted == [0] * 8 and bar.done == 8
