"""Scopes of a thread: whether it records, and which random numbers it draws."""
import sys
import threading

import numpy as np
import pytest

import asyncgrad as ag


@pytest.mark.parametrize("outer", [ag.no_grad, ag.inference])
def test_enable_grad_records_within_other_scopes(outer):
    x = ag.array([3.0]).requires_grad_()
    with outer():
        assert not ag.grad_enabled() and not (x * x).requires_grad
        with ag.enable_grad():
            assert ag.grad_enabled()
            y = x * x
        assert not ag.grad_enabled()
    y.backward()
    assert x.grad.tolist() == [6]


def test_enable_grad_is_a_decorator():
    @ag.enable_grad()
    def slope(x):
        x = x.detach().requires_grad_()
        return ag.grad((x ** 3).sum(), [x])[0]

    with ag.inference():
        assert slope(ag.array([1.0, 2.0])).tolist() == [3, 12]
    with pytest.raises(ZeroDivisionError), ag.no_grad(), ag.enable_grad():
        raise ZeroDivisionError
    assert ag.grad_enabled()


def test_a_scope_decorates_generators():
    """The body runs within the scope, and the loop over it does not, whatever ends it."""
    seen = []

    @ag.no_grad()
    def counted(count):
        try:
            for i in range(count):
                seen.append(ag.grad_enabled())
                try:
                    sent = yield i
                    seen.append((sent, ag.grad_enabled()))
                except KeyError:
                    seen.append(("thrown", ag.grad_enabled()))
        finally:
            seen.append(("end", ag.grad_enabled()))
        return "returned"

    steps = counted(2)
    assert next(steps) == 0 and ag.grad_enabled() and steps.send("a") == 1 and ag.grad_enabled()
    with pytest.raises(StopIteration, match="returned"):
        steps.throw(KeyError)
    assert seen == [False, ("a", False), False, ("thrown", False), ("end", False)] and ag.grad_enabled()
    seen.clear()
    for _ in counted(3):
        break
    assert seen == [False, ("end", False)] and list(counted(3)) == [0, 1, 2]
    with pytest.raises(ZeroDivisionError):
        next(ag.no_grad()(lambda: (yield 1 / 0))())
    assert ag.grad_enabled()


def test_a_scope_decorates_no_coroutine():
    async def wait():
        pass

    with pytest.raises(TypeError, match="no_grad cannot decorate .*use `with` in its body"):
        ag.no_grad()(wait)


def test_a_gradient_function_may_record():
    x = ag.array([2.0]).requires_grad_()

    def gradient(dy):
        with ag.enable_grad():
            again = x.detach().requires_grad_()
            return dy * ag.grad((again ** 2).sum(), [again])[0]

    ag.with_gradient("square", x.detach() ** 2, [x], gradient).backward()
    assert x.grad.tolist() == [4]


def drawn():
    """Initial values, what a layer drops, and what is drawn at once."""
    net = ag.nn.Sequential(ag.nn.Dense(4, 8), ag.nn.Dropout(0.5), ag.nn.LSTM(8, 3))
    return [*(tensor for _, tensor in net.state()), net[1](ag.ones(50)), ag.randn(5), ag.permutation(20), ag.dropout(ag.ones(50))]


def test_a_layer_is_the_same_on_every_thread():
    found, place = {}, ag.default_generator().place

    def make(number):
        with ag.GeneratorScope(ag.Generator(7)):
            found[number] = [tensor.numpy() for tensor in drawn()]

    threads = [threading.Thread(target=make, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    make("here")
    assert ag.default_generator().place == place
    for tensors in found.values():
        for one, other in zip(tensors, found["here"], strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_scopes_generator_is_the_default_one():
    outer, inner = ag.Generator(1), ag.Generator(2)
    before = ag.default_generator()
    with ag.GeneratorScope(outer):
        assert ag.default_generator() is outer
        with ag.GeneratorScope(inner):
            ag.manual_seed(5)
            ag.rand(3)
        assert ag.default_generator() is outer and outer.place == 0 and (inner.seed, inner.place) == (5, 1)
    assert ag.default_generator() is before

    @ag.GeneratorScope(outer)
    def draw():
        return ag.rand(4).tolist()

    assert draw() == ag.rand(4, generator=ag.Generator(1)).tolist()


def test_dropout_draws_where_it_is_called():
    layer, x = ag.nn.Dropout(0.5), ag.ones(100)
    for _ in range(2):
        with ag.GeneratorScope(ag.Generator(3)):
            found = layer(x).tolist()
        assert found == ag.dropout(x, 0.5, ag.Generator(3)).tolist()


def test_threads_without_a_scope_share_the_default_generator():
    place, made = ag.default_generator().place, []
    thread = threading.Thread(target=lambda: made.append(ag.nn.Dense(4, 4)))
    thread.start()
    thread.join()
    assert made[0].weight.shape == (4, 4) and ag.default_generator().place > place


def test_a_thread_may_end_within_a_scope():
    def leave_open():
        ag.GeneratorScope(ag.Generator(3)).__enter__()
        ag.enable_grad().__enter__()
        ag.rand(3)

    for _ in range(20):
        thread = threading.Thread(target=leave_open)
        thread.start()
        thread.join()
    assert ag.default_generator() is not None


@pytest.mark.parametrize("wrong", [None, 7, "cpu", np.random.default_rng(0)])
def test_what_is_no_generator_is_refused(wrong):
    with pytest.raises(TypeError, match="generator must be a Generator"):
        ag.GeneratorScope(wrong)


def test_scopes_that_end_in_another_order():
    def within(scope):
        with scope:
            yield

    generator = ag.Generator(4)
    first, second, third = within(ag.no_grad()), within(ag.GeneratorScope(generator)), within(ag.evaluation())
    for scope in (first, second, third):
        next(scope)
    first.close()
    assert ag.grad_enabled() and ag.default_generator() is generator and not ag.is_training()
    third.close()
    assert ag.default_generator() is generator and ag.is_training()
    second.close()
    assert ag.default_generator() is not generator


class Interrupt(Exception):
    """Raised by a handler of signals, here before any line of the package that Python runs."""


def test_no_interrupt_leaves_a_scope_behind():
    net, x = ag.nn.Sequential(ag.nn.Dense(2, 2), ag.nn.Dropout(0.5)).eval(), ag.ones(1, 2)
    package = ag.__file__.rpartition("/")[0]

    def run():
        with ag.no_grad(), ag.GeneratorScope(ag.Generator(1)), ag.inference():
            net(x)

    def interrupted(place):
        left = [place]

        def trace(frame, event, _):
            if not frame.f_code.co_filename.startswith(package):
                return None
            left[0] -= 1
            if left[0] == 0:
                raise Interrupt
            return trace

        outer = sys.gettrace()
        sys.settrace(trace)
        try:
            run()
        finally:
            sys.settrace(outer)

    default = ag.default_generator()
    for place in range(1, 500):
        try:
            interrupted(place)
        except Interrupt:
            pass
        else:
            break
        assert ag.grad_enabled() and ag.is_training() and ag.default_generator() is default, place
        with pytest.raises(ValueError) as caught:
            ag.ones(2) @ ag.ones(3)
        assert "in layer" not in str(caught.value)
    assert 20 < place < 499


def test_a_scope_decorates_without_parentheses():
    x = ag.parameter(ag.ones(2))

    @ag.no_grad
    def doubled(x):
        """Twice x."""
        return x * 2

    assert not doubled(x).requires_grad and doubled.__doc__ == "Twice x."
    assert (x * 2).requires_grad
    with ag.no_grad():
        assert not (x * 2).requires_grad
