"""Bad input raises what NumPy raises; operations that fail later raise asyncgrad.Error with their line."""
import inspect
import operator
import traceback

import numpy as np
import pytest

import asyncgrad as ag


@pytest.mark.parametrize("kind, call", [
    (ValueError, lambda: ag.ones(2) + ag.ones(3)),
    (ValueError, lambda: ag.ones(2, 3) @ ag.ones(2, 3)),
    (ValueError, lambda: ag.ones(2).reshape(3)),
    (ValueError, lambda: ag.ones(4).reshape(3, -1)),
    (ValueError, lambda: ag.zeros(-1)),
    (ValueError, lambda: ag.ones(2).item()),
    (ValueError, lambda: bool(ag.ones(2))),
    (ValueError, lambda: ag.concatenate([])),
    (ValueError, lambda: ag.concatenate([ag.ones(2), ag.ones(2, 2)])),
    (ValueError, lambda: ag.array([[1], [1, 2]])),
    (ValueError, lambda: ag.ones(2).backward()),
    (ValueError, lambda: ag.zeros(2, device="cuda:77") if False else ag.zeros(2, device="tpu")),
    (ValueError, lambda: ag.set_engine_options(schedule="never")),
    (ValueError, lambda: ag.optim.SGD([], lr=0.1)),
    (ValueError, lambda: ag.optim.SGD([ag.ones(2).requires_grad_()], lr=-1)),
    (ValueError, lambda: ag.arange(2) + 2 ** 70),
    (ValueError, lambda: ag.nn.MultiHeadAttention(2 ** 62, 1)),
    (MemoryError, lambda: ag.nn.PositionalEncoding(1, 2 ** 62)),
    (MemoryError, lambda: ag.nn.PositionalEncoding(2 ** 40, 2 ** 10)),
    (ValueError, lambda: ag.nn.PositionalEncoding(2 ** 40, 2 ** 40)),
    (ValueError, lambda: ag.nn.GRU(4, 2 ** 62)),
    (ValueError, lambda: ag.nn.LSTM(4, 2 ** 62)),
    ((ValueError, MemoryError), lambda: ag.nn.LSTM(4, 2 ** 60)),
    ((ValueError, MemoryError), lambda: ag.nn.TransformerBlock(2 ** 62, 1)),
    (TypeError, lambda: ag.ones(2) + "a"),
    (TypeError, lambda: ag.ones(2) + None),
    (TypeError, lambda: ag.ones(2) + {}),
    (TypeError, lambda: ag.zeros(2.5)),
    (TypeError, lambda: ag.zeros("ab")),
    (TypeError, lambda: ag.zeros(2, dtype="float13")),
    (TypeError, lambda: ag.array(object())),
    (TypeError, lambda: ag.array(["a"])),
    (TypeError, lambda: ag.arange(3).requires_grad_()),
    (TypeError, lambda: len(ag.array(1.0))),
    (TypeError, lambda: iter(ag.array(1.0)).__next__()),
    (TypeError, lambda: float(ag.ones(2))),
    (TypeError, lambda: ag.concatenate(ag.ones(2))),
    (TypeError, lambda: ag.set_engine_options(wings=2)),
    (TypeError, lambda: ag.optim.SGD([ag.ones(2).requires_grad_()], wings=2)),
    (TypeError, lambda: ag.from_dlpack(3)),
    (TypeError, lambda: ag.Tensor()),
    (IndexError, lambda: ag.ones(2)[2]),
    (IndexError, lambda: ag.ones(2)[10 ** 30]),
    (TypeError, lambda: ag.Tensor.shape.__get__(3)),
    (TypeError, lambda: ag.Tensor.backward(3)),
    (TypeError, lambda: ag.Tensor.__new__(ag.Tensor) + 1),
    (TypeError, lambda: hash(ag.Tensor.__new__(ag.Tensor))),
    (ValueError, lambda: ag.set_engine_options(workers=5000)),
    (ValueError, lambda: ag.zeros(8).reshape(-1, 0)),
    (ValueError, lambda: ag.zeros(8).reshape(-1, -1)),
    (ValueError, lambda: ag.zeros(8).reshape(3, -1)),
    (TypeError, lambda: operator.iadd(ag.Tensor.__new__(ag.Tensor), 1)),
    (TypeError, lambda: operator.iadd(ag.array([1, 2]), ag.array([0.5, 1.5]))),
    (TypeError, lambda: ag.ones(2) + np.complex64(1j)),
    (TypeError, lambda: ag.custom("own", (1,), [ag.ones(1).to("bfloat16")], lambda out, x: None)),
    (ValueError, lambda: ag.maximum(ag.ones(2, dtype="uint8"), 300)),
    (ValueError, lambda: ag.maximum(300, ag.ones(2, dtype="uint8"))),
    (ValueError, lambda: ag.zeros(2, dtype="int64").__setitem__(0, float("nan"))),
    (ValueError, lambda: ag.zeros(2, dtype="int64").__setitem__(0, 1e300)),
    (ValueError, lambda: ag.zeros(2, dtype="uint8").__setitem__([0], 300)),
    (IndexError, lambda: ag.ones(2)[True, 0, 0]),
    (TypeError, lambda: ag.randn(2, generator=3)),
    (TypeError, lambda: ag.take(ag.ones(2), [0.5])),
    ((ValueError, IndexError), lambda: ag.zeros(2).transpose(5)),
    (MemoryError, lambda: ag.zeros(2 ** 40, 2 ** 20)),
    (IndexError, lambda: ag.flip(ag.ones(3), 2 ** 40)),
    (IndexError, lambda: ag.sum(ag.ones(3), -(2 ** 62))),
    (ValueError, lambda: ag.sum(ag.ones(3), 2 ** 64)),
])
def test_kinds(kind, call):
    with pytest.raises(kind):
        call()


@pytest.mark.parametrize("message, call", [
    ("^repeats must be at least 0, got -1$", lambda: ag.repeat(ag.ones(2), -1)),
    (r"^\[eye\] extents must not be negative, got \(-1, -1\)", lambda: ag.eye(-1)),
    (r"^\[eye\] extents must not be negative, got \(2, -1\)", lambda: ag.eye(2, -1)),
    ("^num must be at least 0, got -1$", lambda: ag.linspace(0, 1, -1)),
])
def test_counts_below_zero(message, call):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("axis", [2, -3, 10 ** 30, -10 ** 12])
@pytest.mark.parametrize("name", ["sum", "mean", "max", "argmax", "cumsum", "flip", "squeeze"])
def test_bad_axes(name, axis):
    with pytest.raises((ValueError, IndexError)):
        getattr(ag.ones(2, 3), name)(axis)


def test_bad_axes_of_composed_functions():
    for call in (lambda axis: ag.repeat(ag.ones(2), 2, axis), lambda axis: ag.roll(ag.ones(2), 1, axis)):
        for axis in (1, -2):
            with pytest.raises(IndexError, match=f"^axis {axis} is out of bounds for a tensor with 1 axes$"):
                call(axis)


def failing():
    return ag.take(ag.ones(3, 2), ag.array([0, 5]))  # the line that fails


def test_the_line_that_queued_it():
    value = failing() * 2
    with pytest.raises(ag.Error, match=r"index 5.*3 rows") as caught:
        value.item() if value.size == 1 else value.wait()
    error = caught.value
    line = inspect.getsourcelines(failing)[1] + 1
    assert (error.file, error.line, error.operation) == (__file__, line, "take")
    assert (error.layer, error.cause, error.__cause__) == (None, IndexError, None)
    assert error.message.startswith("index 5") and f"[take] {error.message}" in str(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    assert last.lineno == line and "the line that fails" in last.line


def test_the_first_cause_comes_first():
    first, second = failing(), failing()
    with pytest.raises(ag.Error):
        (second + first).wait()
    with pytest.raises(ag.Error):
        second.wait()
    ag.wait_all()
    assert ag.array([1.0]).item() == 1


def test_a_layer_is_named():
    class Wrong(ag.nn.Module):
        def __init__(self):
            self.table = ag.ones(3, 2)

        def forward(self, x):
            return self.table.take(x)

    net = ag.nn.Sequential(ag.nn.Lambda(lambda x: x + 4), Wrong())
    with pytest.raises(ag.Error) as caught:
        net(ag.array([1])).wait()
    assert caught.value.layer == "1"
    with pytest.raises(ValueError, match="in layer 0"):
        ag.nn.Sequential(ag.nn.Dense(2, 3))(ag.ones(1, 5))


def test_what_a_function_of_the_program_raised_is_the_cause():
    class Own(Exception):
        def __str__(self):
            return "own words"

    def deeper(out):
        raise Own

    def fail(out):
        deeper(out)

    value = ag.custom("fails", (2,), [], fail)
    for _ in range(2):  # of every wait
        with pytest.raises(ag.Error, match="own words") as caught:
            (value + 1).wait()
        cause = caught.value.__cause__
        assert isinstance(cause, Own) and traceback.extract_tb(cause.__traceback__)[-1].name == "deeper"
        shown = "".join(traceback.format_exception(caught.value))
        assert shown.index("Own") < shown.index("direct cause") < shown.index("asyncgrad.Error: [fails]")
    frames = [frame for frame, _ in traceback.walk_tb(cause.__traceback__)]
    assert frames and not any("out" in frame.f_locals for frame in frames)  # its memory is no longer valid
    assert ag.recover() == 0
    with pytest.raises(ag.Error) as caught:
        value.wait()
    assert caught.value.__cause__ is None


def test_no_exception_of_a_chain_keeps_arrays():
    def deeper(out):
        raise LookupError

    def fail(out):
        try:
            deeper(out)
        except LookupError as error:
            raise ValueError("no such name") from error

    with pytest.raises(ag.Error, match="no such name") as caught:
        ag.custom("fails", (2,), [], fail).wait()
    found = [frame for frame, _ in traceback.walk_tb(caught.value.__cause__.__cause__.__traceback__)]
    assert [frame.f_code.co_name for frame in found] == ["fail", "deeper"]
    assert not any("out" in frame.f_locals for frame in found)  # its memory is no longer valid


def test_an_exception_that_cannot_be_shown():
    class Own(Exception):
        def __str__(self):
            raise KeyError("within")

    def fail(out):
        raise Own

    with pytest.raises(ag.Error, match=r"\[fails\] Own") as caught:
        ag.custom("fails", (2,), [], fail).wait()
    assert isinstance(caught.value.__cause__, Own)


def test_an_exception_with_a_text_that_has_no_utf_8():
    def fail(out):
        raise LookupError("a \ud800")

    with pytest.raises(ag.Error, match=r"LookupError: a \\ud800") as caught:
        ag.custom("fails", (2,), [], fail).wait()
    assert isinstance(caught.value.__cause__, LookupError)


def test_wait_all_raises_the_oldest():
    values = [failing(), failing()]
    with pytest.raises(ag.Error):
        ag.wait_all()
    ag.recover()
    ag.wait_all()
    assert len(values) == 2
