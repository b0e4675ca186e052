"""Classes of tensors with rules of their own, and what other libraries' names are built on besides."""
import numpy as np
import pytest

import asyncgrad as ag
from asyncgrad import extend


class Kept(ag.Tensor):
    __slots__ = ()


class Below(Kept):
    __slots__ = ()


class Plain(ag.Tensor):
    __slots__ = ()


extend.register(Kept, keeps_types=True, records_on_request=True, takes_floating_indices=True)


def kept(values, dtype=None, kind=Kept):
    return extend.as_class(ag.array(values, dtype), kind)


@pytest.mark.parametrize("kind", [Kept, Below])
def test_types_are_kept(kind):
    integers = kept([1, 2], "int64", kind)
    assert (integers * 1.5).dtype == "int64" and (integers * ag.ones(2)).dtype == "float32"
    assert (ag.array([1, 2]) * 1.5).dtype == "float64" and (kept([1, 2], "int64", Plain) * 1.5).dtype == "float64"


def test_results_have_the_class():
    for y in (kept([1.0]) + ag.ones(1), ag.ones(1) + kept([1.0]), 1 + kept([1.0]), ag.exp(kept([1.0])), kept([1.0]).sum()):
        assert type(y) is Kept
    assert type(kept([1.0]) * kept([1.0], kind=Below)) is Kept and type(kept([1.0], kind=Below) * kept([1.0])) is Below
    assert type(kept([1.0], kind=Plain) * kept([1.0])) is Kept and type(ag.ones(1) + kept([1.0], kind=Plain)) is ag.Tensor


def test_recording_is_requested_in_a_thread():
    x = kept([1.0]).requires_grad_()
    assert (x * 2).is_leaf
    assert extend.request_recording(True) is False
    try:
        y = x * 3
        assert not y.is_leaf and extend.request_recording(True) is True
    finally:
        extend.request_recording(False)
    y.backward()
    assert x.grad.tolist() == [3] and type(x.grad) is Kept
    assert not (ag.ones(1).requires_grad_() * 2).is_leaf


def test_floating_indices():
    assert ag.arange(5)[kept([3.0, 1])].tolist() == [3, 1] and ag.take(ag.arange(5), kept([2.0])).tolist() == [2]
    with pytest.raises(IndexError):
        ag.arange(5)[ag.array([3.0, 1])]


def test_rules_may_be_registered_again():
    class Own(ag.Tensor):
        __slots__ = ()

    extend.register(Own, keeps_types=True)
    assert (kept([1], "int64", Own) * 1.5).dtype == "int64"
    extend.register(Own)
    assert (kept([1], "int64", Own) * 1.5).dtype == "float64"


@pytest.mark.parametrize("kind", [int, np.ndarray, 3, None])
def test_only_tensors_have_rules(kind):
    with pytest.raises(TypeError, match="derived from asyncgrad.Tensor"):
        extend.register(kind)
    with pytest.raises(TypeError, match="derived from asyncgrad.Tensor"):
        extend.as_class(ag.ones(1), kind)


def test_objects_of_one_tensor():
    x = ag.ones(2)
    same = extend.as_class(x, Plain)
    assert extend.address(same) == extend.address(x) != extend.address(ag.ones(2))
    same[0] = 5
    assert x.tolist() == [5, 1] and extend.text(x, "own") == "own([5., 1.])"


def test_detach_in_place():
    x = ag.ones(2).requires_grad_()
    y = x * 2
    assert y.detach_() is y and y.is_leaf and not y.requires_grad


def test_generators_go_on_from_a_place():
    generator, x = ag.Generator(3), ag.ones(100)
    first = ag.dropout(x, 0.5, generator)
    place = generator.place
    second = ag.dropout(x, 0.5, generator)
    generator.set(3, place)
    assert ag.array_equal(ag.dropout(x, 0.5, generator), second) and not ag.array_equal(first, second)
    generator.set(4)
    assert (generator.seed, generator.place) == (4, 0)


def weights(gates, inputs, hidden, rows, has_bias=True):
    shapes = [(inputs, gates * hidden), (hidden, gates * hidden), (gates * hidden,), (gates * hidden,)]
    return [[ag.randn(*shape).requires_grad_() for shape in shapes[:4 if has_bias else 2]] for _ in range(rows)]


def test_recurrent_functions_are_the_formulas():
    x, h, c = (np.random.default_rng(i).normal(size=shape).astype("float32") for i, shape in enumerate([(2, 3, 4), (1, 3, 5), (1, 3, 5)]))
    sigmoid = lambda z: 1 / (1 + np.exp(-z))
    for gates, function in ((1, ag.rnn), (3, ag.gru), (4, ag.lstm)):
        (w, v, b, d), = rows = weights(gates, 4, 5, 1)
        state, cell = h[0], c[0]
        for step in x:
            of_x, of_h = (np.split(z, gates, axis=1) for z in (step @ w.numpy() + b.numpy(), state @ v.numpy() + d.numpy()))
            z = [p + q for p, q in zip(of_x, of_h)]
            if gates == 1:
                state = np.tanh(z[0])
            elif gates == 3:
                reset, update = sigmoid(z[0]), sigmoid(z[1])
                state = (1 - update) * np.tanh(of_x[2] + reset * of_h[2]) + update * state
            else:
                cell = sigmoid(z[1]) * cell + sigmoid(z[0]) * np.tanh(z[2])
                state = sigmoid(z[3]) * np.tanh(cell)
        found = function(ag.array(x), rows, h=ag.array(h), **({"c": ag.array(c)} if gates == 4 else {}))
        assert len(found) == (3 if gates == 4 else 2) and found[0].shape == (2, 3, 5)
        np.testing.assert_allclose(found[1].numpy()[0], state, rtol=1e-4, atol=1e-5)
        found[0].sum().backward()
        assert all(part.grad is not None for part in rows[0])


def test_recurrent_functions_over_layers_and_directions():
    x = ag.randn(4, 2, 3)
    rows = weights(3, 3, 5, 2, has_bias=False) + weights(3, 10, 5, 2, has_bias=False)
    output, h = ag.gru(x, rows, lengths=ag.array([4, 2]), both_directions=True)
    assert output.shape == (4, 2, 10) and h.shape == (4, 2, 5) and output[2:, 1].abs().sum().item() == 0
    with ag.evaluation():
        assert ag.array_equal(ag.gru(x, rows, both_directions=True, dropout=0.5)[0], ag.gru(x, rows, both_directions=True)[0])
    relu = ag.rnn(x, weights(1, 3, 5, 1), activation="relu")[0]
    assert relu.numpy().min() >= 0


def test_recurrent_functions_refuse_what_does_not_fit():
    x, (row,) = ag.randn(4, 2, 3), weights(4, 3, 5, 1)
    for wrong, message in (([row[:3]], "not of 3 tensors"), ([], r"\[LSTM\] needs weights"),
                           ([row] * 2, r"weights.1.weight_ih must be float32 \(5, 20\)"),
                           ([[row[0], ag.ones(5, 19), *row[2:]]], "weight_hh must be"), ([[*row[:3], row[3].astype("float64")]], "bias_hh")):
        with pytest.raises((ValueError, ag.Error), match=message):
            ag.lstm(x, wrong)
    with pytest.raises(ValueError, match=r"\[RNN\] activation must be tanh or relu, got exp"):
        ag.rnn(x, weights(1, 3, 5, 1), activation="exp")
