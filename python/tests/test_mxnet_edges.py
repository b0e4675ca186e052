"""MXNet's names: missing and wrong arguments, threads, copies, and what is easily forgotten."""
import collections
import copy
import math
import pathlib
import pickle
import re
import subprocess
import sys
import textwrap
import threading

import numpy
import pytest

import asyncgrad as ag
from asyncgrad import extend
from asyncgrad.mxnet import autograd, cpu, gluon, image, init, lr_scheduler, np, npx
from asyncgrad.mxnet.base import MXNetError
from asyncgrad.mxnet.gluon import nn, rnn
from test_mxnet import same


@pytest.mark.parametrize("call", [
    lambda x: np.add(x, x, where=x > 0), lambda x: np.sort(x, kind="stable"), lambda x: np.average(x, returned=True),
    lambda x: np.argsort(x, kind="stable"), lambda x: np.exp(x, where=x > 0),
    lambda x: type("Two", (autograd.Function,), {"forward": lambda self, x: (x, x)})()(x),
    lambda x: np.max(x, initial=1), lambda x: np.any(x, where=x > 0),
    lambda x: np.reshape(x, (4,), order="F"), lambda x: x.reshape(4, order="F"), lambda x: np.ravel(x, order="F"),
    lambda x: np.linspace(0, 1, 3, retstep=True), lambda x: np.linalg.norm(x, 2), lambda x: init.create("orthogonal"),
    lambda x: gluon.Trainer([], "sgd", compression_params={"type": "2bit"}), lambda x: gluon.data.DataLoader([1], 1, auto_reload=True),
    lambda x: gluon.Parameter("w", shape=(2,), stype="row_sparse"), lambda x: gluon.Parameter("w", grad_stype="row_sparse"),
    lambda x: nn.BatchNorm(layout="NHWC"),
    lambda x: gluon.Trainer([], "rmsprop", {"centered": True})._rule.update({"centered": True}, 1, 1, x, x, {})])
def test_what_is_missing_raises(call):
    with pytest.raises(NotImplementedError):
        call(np.ones((2, 2)))


@pytest.mark.parametrize("call", [
    lambda x: np.diff(x, axis=2), lambda x: np.moveaxis(x, 2, 0), lambda x: np.prod(x, axis=(0, 2)),
    lambda x: np.prod(x, axis=(0, 0)), lambda x: np.tensordot(x, x, axes=([2], [0])),
    lambda x: np.tensordot(x, np.ones((3, 2)), axes=1), lambda x: npx.pick(x, x[0], axis=-3),
    lambda x: npx.layer_norm(x, x[0], x[0], axis=2), lambda x: x.slice_axis(2, 0, 1),
    lambda x: np.take(x, [0], axis=0, mode="nearest"), lambda x: init.Xavier(rnd_type="normal"),
    lambda x: autograd.backward([x, x], [x]), lambda x: np.zeros(2, ctx=npx.gpu(-1))])
def test_wrong_axes_and_modes_raise(call):
    with pytest.raises(ValueError):
        call(np.ones((2, 2)))


def test_a_gradient_that_is_given_outside_of_record():
    x = np.array([1, 2, 3])
    x.attach_grad()
    with autograd.record():
        y = x * x
    y.backward(np.array([1, 0, 2]))
    same(x.grad, [2, 0, 12])
    with autograd.record():
        y = x * x
    found, = autograd.grad(y, [x])
    same(found, [2, 4, 6])
    same(x.grad, [2, 0, 12])  # stays
    assert type(found) is np.ndarray


def test_an_operation_of_the_program():
    class Cube(autograd.Function):
        def forward(self, x):
            self.save_for_backward(x)
            return x * x * x

        def backward(self, dy):
            x, = self.saved_tensors
            return dy * 3 * x * x

    x = np.array([1, 2])
    x.attach_grad()
    with autograd.record():
        y = Cube()(x)
    y.backward()
    same(x.grad, [3, 12])
    assert type(y) is np.ndarray and type(Cube()(x)) is np.ndarray


def test_threads_record_and_choose_devices_apart():
    found = []
    with autograd.record(), cpu(1):
        thread = threading.Thread(target=lambda: found.extend(
            [autograd.is_recording(), autograd.is_training(), npx.current_context()]))
        thread.start()
        thread.join()
        assert npx.current_context() == cpu(1)
    assert found == [False, False, cpu()]


def test_results_go_where_they_are_asked_for():
    x, y = np.array([[1, 2], [3, 4]]), np.ones((2, 2))
    for call in (lambda out: np.dot(x, y, out=out), lambda out: np.matmul(x, y, out=out),
                 lambda out: np.flip(x, 0, out=out), lambda out: np.logical_and(x, y, out=out),
                 lambda out: np.rint(x, out=out), lambda out: np.full((2, 2), 3, out=out),
                 lambda out: np.random.uniform(2, 3, (2, 2), out=out), lambda out: np.random.normal(size=(2, 2), out=out)):
        out = np.zeros((2, 2))
        assert call(out) is out and out.asnumpy().any()


def test_choices_keep_the_values():
    assert set(np.random.choice(np.array([0.5, 1.5]), (50,)).tolist()) == {0.5, 1.5}
    assert sorted(np.random.permutation(np.array([0.5, 1.5])).tolist()) == [0.5, 1.5]
    assert np.random.randint(3, size=2).dtype == np.random.randint(3, size=2, dtype=None).dtype == numpy.int64
    assert len(set(np.random.exponential(np.ones(20)).tolist())) > 1


def test_parameters_keep_their_shape():
    p = gluon.Parameter("w", shape=(2, 3))
    p.initialize()
    for wrong in (np.ones(()), np.ones((3, 2)), np.ones((1, 3))):
        with pytest.raises(ValueError, match="shape"):
            p.set_data(wrong)
    assert p.shape == (2, 3)
    p.cast("float64")
    with autograd.record():
        p.data().sum().backward()
    assert p.grad().dtype == "float64" and p.data().shape == (2, 3)
    p.zero_grad()
    same(p.grad(), numpy.zeros((2, 3)))


def test_trainers_refuse_what_they_do_not_know():
    with pytest.raises(TypeError, match="learning_rat"):
        gluon.Trainer([], "sgd", {"learning_rat": 0.1})
    with pytest.raises(UserWarning):
        gluon.Trainer([], "sgd", {"lr_scheduler": lr_scheduler.FactorScheduler(1)}).set_learning_rate(1)


@pytest.mark.parametrize("call, message", [
    (lambda: nn.Conv2D(1, 3)(np.ones((6, 8))), "Conv2D takes x of 4 axes, (N, C, H, W), not (6, 8)"),
    (lambda: nn.Conv2D(1, 3)(np.ones((1, 6, 8))), "Conv2D takes x of 4 axes, (N, C, H, W), not (1, 6, 8)"),
    (lambda: nn.Conv2DTranspose(1, 3)(np.ones((1, 6, 8))), "Conv2DTranspose takes x of 4 axes"),
    (lambda: nn.Conv1D(1, 3)(np.ones((1, 1, 6, 8))), "Conv1D takes x of 3 axes, (N, C, L), not (1, 1, 6, 8)"),
    (lambda: nn.MaxPool2D(2)(np.ones((1, 6, 8))), "MaxPool2D takes x of 4 axes, (N, C, H, W), not (1, 6, 8)"),
    (lambda: nn.AvgPool1D(2)(np.ones(3)), "AvgPool1D takes x of 3 axes, (N, C, L), not (3,)"),
    (lambda: nn.GlobalAvgPool2D()(np.ones((6, 8))), "npx.pooling takes data (N, C, ...), not (6, 8)"),
    (lambda: npx.convolution(np.ones((1, 6, 8)), np.ones((1, 1, 3, 3))),
     "npx.convolution takes data (N, C, H, W) with weight (1, 1, 3, 3), not (1, 6, 8)"),
    (lambda: rnn.RNN(4)(np.ones((2, 3))), "RNN with layout='TNC' takes x of 3 axes, (T, N, I), not (2, 3)"),
    (lambda: rnn.LSTM(4, layout="NTC")(np.ones((2, 3))), "LSTM with layout='NTC' takes x of 3 axes, (N, T, I), not (2, 3)")])
def test_layers_say_which_axes_they_take(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


class Own(gluon.HybridBlock):
    """It computes nothing."""


@pytest.mark.parametrize("call, message", [
    (lambda: gluon.Trainer([], "sdg"), "Trainer(optimizer='sdg'): there are sgd, nag, adam, adagrad, rmsprop, adadelta"),
    (lambda: init.create("orthogonal"), "init.create('orthogonal'): there are constant, msraprelu, normal"),
    (lambda: npx.activation(np.ones(1), "sine"), "npx.activation(act_type='sine'): there are relu, sigmoid, tanh"),
    (lambda: nn.Conv2D(1, 1, layout="NHWC"), "Conv2D(layout='NHWC'): there is NCHW"),
    (lambda: gluon.utils.download("url"), "gluon.utils.download: get the file with urllib.request.urlretrieve()"),
    (lambda: gluon.Block()(), "Block has no forward()"), (lambda: gluon.data.Dataset()[0], "Dataset has no __getitem__()"),
    (lambda: iter(gluon.data.Sampler()), "Sampler has no __iter__()"), (lambda: Own().infer_shape(), "or write infer_shape()"),
    (lambda: lr_scheduler.LRScheduler()(1), "LRScheduler has no __call__()"),
    (lambda: init.Initializer()(init.InitDesc("weight"), np.ones(1)), "Initializer has no _init_weight()"),
    (lambda: gluon.metric.EvalMetric("own").update(np.ones(1), np.ones(1)), "EvalMetric has no update()"),
    (lambda: rnn.RecurrentCell().begin_state(1), "RecurrentCell has no state_info()")])
def test_what_is_missing_says_what_there_is(call, message):
    with pytest.raises(NotImplementedError, match=re.escape(message)):
        call()


def test_an_index_outside_of_an_embedding_raises_at_the_wait():
    y = npx.embedding(np.array([1, 5]), np.ones((3, 2)))
    with pytest.raises(MXNetError, match="5"):
        y.asnumpy()


def stepped(trainer, parameters, ignore_stale_grad=False):
    """Their values after a step by the gradients of sum(parameter)."""
    with autograd.record():
        total = sum(p.data().sum() for p in parameters)
    total.backward()
    trainer.step(1, ignore_stale_grad)
    return [p.data().tolist() for p in trainer._params]


def two_parameters(optimizer, options):
    a, b = (gluon.Parameter(name, shape=(1,)) for name in ("a", "b"))
    for parameter in (a, b):
        parameter.initialize(init.One())
    return a, b, gluon.Trainer([a, b], optimizer, options)


def test_a_step_needs_gradients_that_backward_has_written_since_the_last_one():
    a, b, trainer = two_parameters("sgd", {"learning_rate": 1, "wd": 0.5})
    stale = r"Gradient of Parameter `{}` on context cpu\(0\) has not been updated by backward since last `step`"
    with pytest.raises(UserWarning, match=stale.format("a")):
        trainer.step(1)
    assert stepped(trainer, [a, b]) == [[-0.5], [-0.5]]
    with pytest.raises(UserWarning, match=stale.format("b")):
        stepped(trainer, [a])
    assert [p.data().tolist() for p in (a, b)] == [[-0.5], [-0.5]]  # nothing was updated
    trainer.step(1, ignore_stale_grad=True)
    assert [p.data().tolist() for p in (a, b)] == [[-1.25], [-0.5]]
    trainer.step(1, ignore_stale_grad=True)
    assert [p.data().tolist() for p in (a, b)] == [[-1.25], [-0.5]]
    assert stepped(trainer, [b], True) == [[-1.25], [-1.25]]


def test_parameters_that_a_step_leaves_out_count_their_own_updates():
    a, b, trainer = two_parameters("adam", {"learning_rate": 0.1, "lr_scheduler": lr_scheduler.FactorScheduler(1, 0.5)})
    for parameters in ([a, b], [a], [a, b]):
        values = stepped(trainer, parameters, True)
    numpy.testing.assert_allclose(values, [[0.825], [0.875]], rtol=1e-5)


def test_gradients_that_are_added_up_are_stale_after_a_step():
    a, b, trainer = two_parameters("sgd", {"learning_rate": 1})
    a.grad_req = b.grad_req = "add"
    with autograd.record():
        (a.data() + b.data()).sum().backward()
    assert stepped(trainer, [a, b]) == [[-1], [-1]]
    with pytest.raises(UserWarning, match="`a`"):
        trainer.step(1)
    assert stepped(trainer, [a, b]) == [[-4], [-4]]
    a.zero_grad(), b.zero_grad()
    assert stepped(trainer, [a, b]) == [[-5], [-5]]


@pytest.mark.parametrize("ignore", [False, True])
def test_a_step_of_parameters_without_values_raises(ignore):
    layer = nn.Dense(2)
    with pytest.raises(RuntimeError, match="has not been initialized"):
        gluon.Trainer(layer.collect_params(), "sgd").step(1, ignore)
    layer.initialize()
    with pytest.raises(gluon.parameter.DeferredInitializationError, match="during the first forward pass"):
        gluon.Trainer(layer.collect_params(), "sgd").step(1, ignore)


@pytest.mark.parametrize("step", [0, -1, 0.5])
def test_schedulers_that_would_never_end_are_refused(step):
    with pytest.raises(ValueError, match="step must be at least 1"):
        lr_scheduler.FactorScheduler(step=step, factor=0.9)


def test_transforms():
    vision = gluon.data.vision.transforms
    composed = vision.Compose([vision.Cast("float32")])
    composed.add(vision.Normalize(1.0, 2.0))
    same(composed(np.array([[[3, 5]]])), [[[1, 2]]])
    image = numpy.array([[[0.0], [1]]], "float32")
    numpy.testing.assert_allclose(vision.Resize((4, 1))(image)[..., 0], [[0, 0.25, 0.75, 1]])


def test_batches_without_samples():
    assert nn.Flatten()(np.ones((0, 3, 4))).shape == (0, 12)
    layer = nn.Dense(2)
    layer.initialize()
    assert layer(np.ones((0, 3, 4))).shape == (0, 2)


def test_rmse_is_averaged_over_arrays():
    error = gluon.metric.RMSE()
    error.update([np.array([1.0, 2]), np.array([0.0])], [np.array([1.0, 4]), np.array([3.0])])
    assert error.get()[1] == pytest.approx((math.sqrt(2) + 3) / 2)


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_train_on_their_own(copier):
    x = np.array([1, 2])
    x.attach_grad()
    y = copier(x)
    assert type(y) is np.ndarray and y.tolist() == [1, 2] and y.grad is None
    net = nn.Dense(1, in_units=2)
    net.initialize()
    net(np.ones((1, 2)))
    other = copier(net)
    for _ in range(2):
        with autograd.record():
            l = other(np.ones((1, 2))).sum()
        l.backward()
    same(other.weight.grad(), [[1, 1]])
    same(net.weight.grad(), [[0, 0]])
    before = net.weight.data().asnumpy()
    gluon.Trainer(other.collect_params(), "sgd", {"learning_rate": 1}).step(1)
    same(other.weight.data(), before - 1)
    same(net.weight.data(), before)


@pytest.mark.parametrize("draw, mean, variance", [
    (lambda n: np.random.chisquare(3, n), 3, 6),
    (lambda n: np.random.gumbel(1, 2, n), 1 + 2 * numpy.euler_gamma, 4 * numpy.pi ** 2 / 6),
    (lambda n: np.random.logistic(1, 2, n), 1, 4 * numpy.pi ** 2 / 3),
    (lambda n: np.random.lognormal(0.5, 0.5, n), numpy.exp(0.625), (numpy.exp(0.25) - 1) * numpy.exp(1.25)),
    (lambda n: np.random.pareto(6, n), 1 / 5, 6 / 100),
    (lambda n: np.random.power(3, n), 3 / 4, 3 / 80),
    (lambda n: np.random.rayleigh(2, n), 2 * numpy.sqrt(numpy.pi / 2), (4 - numpy.pi) * 2),
    (lambda n: np.random.weibull(1, n), 1, 1),
    (lambda n: np.random.multivariate_normal(np.array([1, 2]), np.array([[2, 1], [1, 3]]), n)[:, 0], 1, 2),
    (lambda n: np.random.multivariate_normal(np.array([1, 2]), np.array([[2, 1], [1, 3]]), n).sum(axis=1), 3, 7),
])
def test_distributions(draw, mean, variance):
    x = draw(40000)
    assert x.shape == (40000,) and x.dtype == "float32"
    assert abs(x.mean().item() - mean) < 0.05 * (1 + mean) and abs(x.var().item() / variance - 1) < 0.1


def test_distributions_of_arrays_of_parameters():
    x = np.random.rayleigh(np.array([1, 100]))
    assert x.shape == (2,) and np.random.pareto(np.ones((2, 3))).shape == (2, 3) and np.random.gumbel().shape == ()
    assert np.random.multivariate_normal(np.zeros((4, 2)), np.eye(2), (3,)).shape == (3, 4, 2)


def test_random_parts_of_images():
    transforms = gluon.data.vision.transforms
    x = np.arange(13 * 17 * 3).reshape(13, 17, 3)
    for flip, axis in ((transforms.RandomFlipLeftRight(), 1), (transforms.RandomFlipTopBottom(), 0)):
        results = [flip(x).asnumpy() for _ in range(30)]
        flipped = [(y == numpy.flip(x.asnumpy(), axis)).all() for y in results]
        same_as_x = [(y == x.asnumpy()).all() for y in results]
        assert any(flipped) and any(same_as_x) and all(a != b for a, b in zip(flipped, same_as_x))
    parts = [image.random_crop(x, (5, 4)) for _ in range(30)]
    for part, (x0, y0, w, h) in parts:
        assert (part == x[y0:y0 + 4, x0:x0 + 5]).all() and (w, h) == (5, 4)
    assert len({(x0, y0) for _, (x0, y0, _, _) in parts}) > 10 and image.random_crop(x, (40, 4), 1)[0].shape == (4, 40, 3)
    sizes = [transforms.RandomResizedCrop((6, 5))(x) for _ in range(30)]
    assert {y.shape for y in sizes} == {(5, 6, 3)} and len({y.sum().item() for y in sizes}) > 10
    with pytest.raises(NotImplementedError, match="interp=2"):
        image.imresize(x, 3, 3, 2)
    with pytest.raises(ValueError, match="width 0"):
        image.imresize(x, 0, 3)


def test_gradients_through_numpy():
    x = np.array([[1, 2], [3, 5]])
    x.attach_grad()
    with autograd.record():
        with pytest.raises(NotImplementedError, match="eigvals"):
            np.linalg.eigvals(x)
        with pytest.raises(NotImplementedError, match="interp"):
            np.interp(x, np.arange(3), np.arange(3))
    with pytest.raises(numpy.linalg.LinAlgError):
        np.linalg.inv(np.ones((2, 2)))
    with pytest.raises(NotImplementedError, match="complex"):
        np.linalg.eig(np.array([[0, 1], [-1, 0]]))


@pytest.mark.parametrize("call", [
    lambda x: np.einsum("ij,jk", x), lambda x: np.einsum("ijk", x), lambda x: np.einsum("ij,jk", x, np.ones((3, 2))),
    lambda x: np.einsum("ij->k", x), lambda x: np.einsum("ij->ii", x), lambda x: npx.reshape(x, (-6, 3, 3)),
    lambda x: npx.reshape(x, (-3, -2)), lambda x: npx.reshape(x, (-2, -2, -2)), lambda x: np.dsplit(x, 2),
    lambda x: np.rot90(x, axes=(0, 0)), lambda x: np.linalg.svd(np.ones((3, 2))), lambda x: npx.slice(x, (0,), (1, 2)),
    lambda x: gluon.data.DataLoader(x), lambda x: gluon.data.DataLoader(x, 1, True, gluon.data.SequentialSampler(2)),
    lambda x: gluon.data.DataLoader(x, 1, last_batch="keeps"), lambda x: gluon.metric.TopKAccuracy(1)])
def test_other_wrong_arguments_raise(call):
    with pytest.raises(ValueError):
        call(np.ones((2, 2)))


def test_images_from_binary_files(tmp_path, monkeypatch):
    monkeypatch.setenv("MXNET_HOME", str(tmp_path))
    rows = numpy.random.default_rng(0).integers(0, 256, (10, 2 + 3072)).astype("uint8")
    for folder in ("cifar10", "cifar100"):
        (tmp_path / "datasets" / folder).mkdir(parents=True)
    for i in range(1, 6):
        (tmp_path / "datasets" / "cifar10" / f"data_batch_{i}.bin").write_bytes(rows[2 * i - 2:2 * i, 1:].tobytes())
    (tmp_path / "datasets" / "cifar100" / "test.bin").write_bytes(rows.tobytes())
    ten, coarse = gluon.data.vision.CIFAR10(), gluon.data.vision.CIFAR100(train=False)
    fine = gluon.data.vision.CIFAR100(fine_label=True, train=False, transform=lambda image, label: (image.shape, label))
    image_, label = ten[3]
    assert len(ten) == 10 and image_.dtype == "uint8" and label.dtype == "int32" and label.item() == rows[3, 1]
    assert (image_.asnumpy() == rows[3, 2:].reshape(3, 32, 32).transpose(1, 2, 0)).all()
    assert coarse[:][1].tolist() == rows[:, 0].tolist() and fine[5] == ((32, 32, 3), rows[5, 1])
    with pytest.raises(FileNotFoundError, match="test_batch.bin"):
        gluon.data.vision.CIFAR10(train=False)


def test_pickles_of_earlier_versions_load():
    kept = pickle.loads((pathlib.Path(__file__).parent / "saved" / "mxnet.pickle").read_bytes())
    net, x = kept["net"], kept["x"]
    assert list(net.collect_params()) == kept["names"]
    numpy.testing.assert_array_equal(net(x).asnumpy(), kept["y"].asnumpy())
    net.register_forward_pre_hook(lambda block, inputs: None)
    for parameter, expected in ((net[0].weight, None), (kept["adding"], [5, 5])):
        for factor in (2, 3):
            with autograd.record():
                y = (net(x) * factor).sum() if expected is None else (parameter.data() * factor).sum()
            y.backward()
        assert expected is None or parameter.grad().tolist() == expected
    assert kept["adding"].grad_req == "add" and net[0].weight.grad_req == "write" and net[0].weight.grad().asnumpy().any()


def test_parameters_of_a_file_get_another_prefix(tmp_path):
    first, second = gluon.nn.Dense(2, in_units=3, prefix="a_"), gluon.nn.Dense(2, prefix="b_")
    first.initialize(init.One())
    first.collect_params().save(tmp_path / "x", strip_prefix="a_")
    with pytest.raises(ValueError, match="missing are"):
        second.collect_params().load(tmp_path / "x")
    second.collect_params().load(tmp_path / "x", restore_prefix="b_")
    assert second.weight.data().tolist() == first.weight.data().tolist() and second.bias.data().tolist() == [0, 0]


def test_a_factor_scheduler_takes_large_counts():
    rate = lr_scheduler.FactorScheduler(step=1, factor=0.5, base_lr=1, stop_factor_lr=0.1)
    assert rate(10**15) == 0.1 and rate.count == 10**15 - 1
    assert lr_scheduler.FactorScheduler(step=3, base_lr=0.25)(10**15) == 0.25
    for step in (1, 3, 7):
        rate, expected, count = lr_scheduler.FactorScheduler(step=step, factor=0.9, base_lr=1), 1, 0
        for update in range(60):
            while update > count + step:
                count, expected = count + step, max(expected * 0.9, 1e-8)
            assert rate(update) == expected
    for wrong in ({"step": float("nan")}, {"step": 1, "factor": float("nan")}):
        with pytest.raises(ValueError, match="got nan"):
            lr_scheduler.FactorScheduler(**wrong)


NAN = float("nan")


@pytest.mark.parametrize("kind, message, options", [
    (ValueError, "learning_rate of the optimizer sgd must be finite, got nan", {"learning_rate": NAN}),
    (TypeError, "learning_rate of the optimizer sgd must be a number, got 'a'", {"learning_rate": "a"}),
    (ValueError, "momentum of the optimizer sgd must be finite, got inf", {"momentum": math.inf}),
    (TypeError, "wd of the optimizer sgd must be a number, got None", {"wd": None}),
    (ValueError, "rescale_grad of the optimizer sgd must be finite, got nan", {"rescale_grad": NAN}),
    (ValueError, "clip_gradient of the optimizer sgd must be finite, got nan", {"clip_gradient": NAN}),
    (TypeError, "clip_gradient of the optimizer sgd must be a number, got 'a'", {"clip_gradient": "a"})])
def test_options_that_are_no_numbers_are_refused(kind, message, options):
    with pytest.raises(kind, match=re.escape(message)):
        gluon.Trainer([], "sgd", options)


def test_a_trainer_refuses_rates_and_batch_sizes_that_are_no_numbers():
    a, b, trainer = two_parameters("sgd", {"learning_rate": 0.5})
    with pytest.raises(ValueError, match="learning_rate must be finite, got nan"):
        trainer.set_learning_rate(NAN)
    assert trainer.learning_rate == 0.5
    for batch_size, kind, message in ((0, ValueError, "batch_size must not be 0"), (NAN, ValueError, "batch_size must be finite, got nan"),
                                      ("2", TypeError, "batch_size must be a number, got '2'")):
        with pytest.raises(kind, match=message):
            trainer.step(batch_size)
    for threshold in (0, -1, math.inf):  # no threshold, as in MXNet
        trainer = gluon.Trainer([], "sgd", {"clip_gradient": threshold})
        assert trainer._prepared(np.array([5.0]), np.array([1.0]), 0).tolist() == [5]


@pytest.mark.parametrize("size", [0, -1, 2.5, "2"])
def test_batch_sizes_that_make_no_batches_are_refused(size):
    with pytest.raises(ValueError, match=re.escape(f"batch_size must be an integer of at least 1, got {size!r}")):
        gluon.data.DataLoader([1, 2, 3], size)


@pytest.mark.parametrize("kind", [lr_scheduler.PolyScheduler, lr_scheduler.CosineScheduler])
def test_a_schedule_that_is_all_warm_up_ends_at_its_final_rate(kind):
    rate = kind(5, base_lr=1, final_lr=0.25, warmup_steps=5)
    assert [rate(update) for update in range(7)] == [0, 0.2, 0.4, 0.6, 0.8, 0.25, 0.25]


@pytest.mark.parametrize("kind", [numpy.array, np.array, ag.array])
def test_a_parameter_takes_the_values_of_any_array(kind):
    p = gluon.Parameter("w", shape=(2, 3))
    p.initialize()
    p.set_data(kind(numpy.arange(6.0).reshape(2, 3)))
    assert p.data().dtype == "float32" and p.data().tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("attach", [lambda p: p.data().attach_grad(), lambda p: setattr(p, "grad_req", "write")])
def test_a_variable_that_is_attached_again_keeps_no_earlier_gradient(attach):
    p = gluon.Parameter("w", shape=(1 << 18,))
    p.initialize(init.One())

    def live_bytes():
        attach(p)
        assert not p.grad().asnumpy().any()
        npx.waitall()
        return ag.memory()["live_bytes"]

    before = live_bytes()
    assert max(live_bytes() for _ in range(5)) < before + p.data().size


def test_an_array_that_dies_takes_its_variable_away():
    x = np.ones(2)
    x.attach_grad()
    x.attach_grad("add")
    address = extend.address(x)
    assert address in autograd._variables
    del x
    assert address not in autograd._variables


@pytest.mark.parametrize("kind", [tuple, list, numpy.array, np.array])
@pytest.mark.parametrize("workers", [0, 1])
def test_batches_of_a_sampler_may_be_of_any_sequence(kind, workers):
    rows = numpy.arange(12, dtype="float32").reshape(4, 3)
    loader = gluon.data.DataLoader(gluon.data.ArrayDataset(rows), batch_sampler=[kind([0, 1]), kind([3])], num_workers=workers)
    assert [batch.tolist() for batch in loader] == [rows[:2].tolist(), rows[3:].tolist()]


@pytest.mark.parametrize("draw", [np.random.rand, np.random.randn])
def test_numbers_of_a_shape_have_the_type_that_is_asked_for(draw):
    out = np.zeros((2, 3))
    assert draw(2, 3).dtype == "float32" and draw(2, 3, dtype="float64", ctx=cpu()).dtype == "float64"
    assert draw(2, 3, out=out) is out and out.asnumpy().any()


def test_types_of_results():
    x = np.ones((2, 2))
    same(npx.log_softmax(x, dtype="float64"), numpy.log(numpy.full((2, 2), 0.5)))
    assert npx.log_softmax(x, dtype="float64").dtype == "float64" and npx.log_softmax(x).dtype == "float32"
    assert npx.embedding(np.array([0, 1]), x, input_dim=2, output_dim=2, dtype="float32").dtype == "float32"


def test_blocks_that_share_a_parameter_agree_on_it():
    first = nn.Dense(2, in_units=3, prefix="a_")
    for options, message in (({"units": 4}, "'shape': desired '(4, -1)' vs stored '(2, 3)'"),
                             ({"units": 2, "in_units": 4}, "'shape': desired '(2, 4)' vs stored '(2, 3)'"),
                             ({"units": 2, "dtype": "float64"}, "'dtype': desired 'float64' vs stored 'float32'")):
        with pytest.raises(AssertionError, match=re.escape(f"Cannot retrieve Parameter 'a_weight' because desired attribute does not "
                                                           f"match with stored for attribute {message}")):
            nn.Dense(**options, params=first.params)
    with pytest.raises(AssertionError, match="a_bias"):
        first.params.get("bias", shape=(2, 1))
    assert nn.Dense(2, dtype=numpy.float32, params=first.params).weight is first.weight and first.weight.shape == (2, 3)
    late = nn.Dense(2, prefix="b_")
    late.initialize(init.One())
    nn.Dense(2, in_units=3, params=late.params)
    assert late.weight.shape == (2, 3) and late(np.ones((1, 3))).tolist() == [[3, 3]]


def test_what_a_block_has_registered_is_replaced_by_its_like_alone():
    class Net(nn.Block):
        def __init__(self):
            super().__init__()
            self.fc = nn.Dense(2, in_units=1)
            self.weight = self.params.get("weight", shape=(1,))

    net = Net()
    fc, weight = net.fc, net.weight
    for name, value in (("fc", None), ("fc", nn.Flatten()), ("fc", weight), ("weight", None), ("weight", fc)):
        with pytest.raises(TypeError, match=f"Changing attribute type for {name} from .* to .* is not allowed"):
            setattr(net, name, value)
    with pytest.raises(AssertionError, match="Overriding Parameter attribute weight is not allowed"):
        net.weight = gluon.Parameter("weight", shape=(1,))
    assert (net.fc, net.weight) == (fc, weight) and list(net.collect_params().values()) == [weight, fc.weight, fc.bias]
    net.fc = other = nn.Dense(3, in_units=1)
    assert net.fc is other and list(net.collect_params().values()) == [weight, other.weight, other.bias]


def test_parameters_of_a_pickle_are_on_their_devices(tmp_path, monkeypatch):
    program = """
        import pathlib, pickle, sys
        from asyncgrad.mxnet import cpu_as_gpus, gluon, gpu, init
        cpu_as_gpus(2)
        p = gluon.Parameter("w", shape=(2,))
        p.initialize(init.One(), ctx=[gpu(0), gpu(1)])
        pathlib.Path(sys.argv[1]).write_bytes(pickle.dumps(p))
        p = pickle.loads(pickle.dumps(p))
        print(p.list_ctx(), [x.ctx for x in p.list_data()], p.data(gpu(1)).tolist(), p.grad(gpu(1)).ctx)
        """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program), tmp_path / "p"], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[gpu(0), gpu(1)] [gpu(0), gpu(1)] [1.0, 1.0] gpu(1)", done.stderr
    monkeypatch.setattr(extend, "gpus", lambda: [])  # where there are no such devices
    p = pickle.loads((tmp_path / "p").read_bytes())
    assert p.list_ctx() == [cpu()] and stepped(gluon.Trainer([p], "sgd", {"learning_rate": 1}), [p]) == [[0, 0]]


@pytest.mark.parametrize("make", [nn.Sequential, lambda: nn.Dense(1), lambda: [nn.Dense(1)], lambda: {"w": np.ones(1)}, lambda: np.ones(1)])
def test_a_trainer_takes_parameters_alone(make):
    with pytest.raises(ValueError, match="First argument must be a list or dict of Parameters, got"):
        gluon.Trainer(make(), "sgd")


def test_named_tuples_of_arrays_go_to_numpy():
    rows = collections.namedtuple("Rows", "first second")(np.array([1, 1, 0]), np.array([2, 1, 3]))
    assert np.lexsort(rows).tolist() == numpy.lexsort(([1, 1, 0], [2, 1, 3])).tolist() == [1, 0, 2]


def test_constants_are_shared_as_parameters_are():
    shared = gluon.ParameterDict("net_")
    constant = shared.get_constant("scale", [1.0, 2.0])
    other = gluon.ParameterDict("net_", shared)
    assert other.get_constant("scale") is constant and other.get_constant("scale", np.array([1, 2])) is constant
    assert list(other.keys()) == ["net_scale"]
    with pytest.raises(KeyError, match="net_shift"):
        other.get_constant("shift")
    with pytest.raises(ValueError, match="the constant 'net_scale' has another value"):
        other.get_constant("scale", [1.0, 3.0])
    other.get("weight", shape=(2,))
    with pytest.raises(ValueError, match="'net_weight' is a parameter"):
        other.get_constant("weight")
