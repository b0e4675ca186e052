"""MXNet's names: their semantics against NumPy, and programs in the style of the book."""
import math
import subprocess
import sys
import textwrap
import threading
import time

import numpy
import pytest

from asyncgrad import d2l
from asyncgrad.mxnet import autograd, cpu, gluon, init, lr_scheduler, np, npx
from asyncgrad.mxnet.gluon import nn

npx.set_np()


def same(x, expected, rtol=1e-5):
    assert x.shape == numpy.shape(expected)
    numpy.testing.assert_allclose(x.asnumpy(), expected, rtol=rtol, atol=1e-6)


def test_arrays_are_float32():
    assert np.array([1, 2]).dtype == np.float32 and np.arange(3).dtype == np.float32
    assert np.zeros((2, 3)).dtype == numpy.float32 and np.array(numpy.arange(3)).dtype == numpy.int64
    assert repr(np.ones((1, 2)) * 3) == "array([[3., 3.]])"
    assert repr(np.ones(2, dtype="int64")) == "array([1, 1], dtype=int64)" and repr(np.ones((0, 3))) == "array([], shape=(0, 3))"
    assert repr(np.ones((1, 20), dtype="int32")) == f"array([[{', '.join(['1'] * 20)}]],\n      dtype=int32)"
    assert f"{np.array(0.7736172)} {np.array(0.5):.3f} {np.ones(2)}" == "0.7736172080039978 0.500 [1. 1.]"
    with pytest.raises(TypeError, match="shape .2,. has no format '.3f'"):
        format(np.ones(2), ".3f")
    assert np.array([[np.array(1.0), 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "sin", "cos", "tanh", "abs", "square", "sinh", "cosh", "log2", "ceil"])
def test_functions(name):
    x = numpy.random.default_rng(0).uniform(0.1, 2, (3, 4)).astype("float32")
    same(getattr(np, name)(np.array(x)), getattr(numpy, name)(x))


def test_numbers_of_python_that_round():
    x = np.array([-1.25, 2.5, 3.5])
    for function in (round, math.trunc, math.floor, math.ceil):
        same(function(x), {"round": numpy.round}.get(function.__name__, getattr(numpy, function.__name__))(x.asnumpy()))
    same(round(np.array(1.567), 1), 1.6)


def test_numpy_like():
    x = numpy.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
    a = np.array(x)
    same(np.dot(a, a[0].T), numpy.dot(x, x[0].T))
    same(np.concatenate([a, a], axis=1), numpy.concatenate([x, x], 1))
    same(np.tensordot(a, a, axes=([0, 1], [0, 1])), numpy.tensordot(x, x, ([0, 1], [0, 1])), 1e-4)
    same(np.linalg.norm(a), numpy.linalg.norm(x))
    same(np.moveaxis(a, 0, 2), numpy.moveaxis(x, 0, 2))
    same(np.vstack([a[0], a[1]]), numpy.vstack([x[0], x[1]]))
    same(np.repeat(a, 2, axis=0), numpy.repeat(x, 2, 0))
    same(np.maximum(a, 0), numpy.maximum(x, 0))
    same(a.mean(axis=(0, 2), keepdims=True), x.mean((0, 2), keepdims=True))
    same(a.std(axis=0), x.std(0))
    same(np.array([1, 2], dtype="int32").std(dtype="float32"), 0.5)
    same(np.sort(a), numpy.sort(x))
    same(npx.softmax(a), numpy.exp(x) / numpy.exp(x).sum(-1, keepdims=True))
    same(npx.pick(a[0], np.array([0, 9, 1])), x[0][[0, 1, 2], [0, 3, 1]])
    same(npx.one_hot(np.array([0, 2]), 3), numpy.eye(3)[[0, 2]])
    same(npx.batch_dot(a, a, transpose_b=True), x @ x.transpose(0, 2, 1), 1e-4)


def test_gradients_are_replaced_and_recorded_within_record():
    x = np.arange(4)
    x.attach_grad()
    same(x.grad, [0, 0, 0, 0])
    with autograd.record():
        y = 2 * np.dot(x, x)
    y.backward()
    same(x.grad, [0, 4, 8, 12])
    with autograd.record():
        y = x.sum()
    y.backward()
    same(x.grad, [1, 1, 1, 1])
    with autograd.record():
        y = x * x
        u = y.detach()
        z = u * x
    z.backward()
    same(x.grad, [0, 1, 4, 9])
    y = x * x
    with pytest.raises(ValueError):
        y.backward()
    x -= 1  # outside of record()
    x.attach_grad("add")
    for _ in range(2):
        with autograd.record():
            (x * 3).backward()
    same(x.grad, [6] * 4)


def test_modes():
    assert not autograd.is_recording() and not autograd.is_training()
    with autograd.record():
        assert autograd.is_recording() and autograd.is_training()
        with autograd.pause():
            assert not autograd.is_recording()
    with autograd.train_mode():
        assert autograd.is_training()


def test_linear_regression_from_scratch():
    true_w, true_b = np.array([2, -3.4]), 4.2
    X = np.random.normal(0, 1, (1000, 2))
    y = np.dot(X, true_w) + true_b + np.random.normal(0, 0.01, (1000,))
    w, b = np.random.normal(0, 0.01, (2, 1)), np.zeros(1)
    w.attach_grad()
    b.attach_grad()
    for _ in range(3):
        for i in range(0, 1000, 10):
            batch, label = X[i:i + 10], y[i:i + 10]
            with autograd.record():
                loss = (np.dot(batch, w) + b - label.reshape(-1, 1)) ** 2 / 2
            loss.backward()
            for param in (w, b):
                param[:] = param - 0.03 * param.grad / 10
    assert numpy.abs(true_w.asnumpy() - w.reshape(2).asnumpy()).max() < 0.02 and abs(true_b - b.item()) < 0.02


@pytest.mark.parametrize("optimizer, options", [
    ("sgd", {"learning_rate": 0.03}), ("sgd", {"learning_rate": 0.01, "momentum": 0.9, "wd": 1e-4}),
    ("adam", {"learning_rate": 0.05}), ("adagrad", {"learning_rate": 0.5}), ("rmsprop", {"learning_rate": 0.02}),
    ("adadelta", {"rho": 0.9}), ("nag", {"learning_rate": 0.01, "momentum": 0.5})])
def test_linear_regression(optimizer, options):
    X = np.random.normal(0, 1, (200, 2))
    y = np.dot(X, np.array([2, -3.4])) + 4.2
    loader = gluon.data.DataLoader(gluon.data.ArrayDataset(X, y), 20, shuffle=True)
    net = nn.Sequential()
    net.add(nn.Dense(1))
    net.initialize(init.Normal(sigma=0.01))
    loss, trainer = gluon.loss.L2Loss(), gluon.Trainer(net.collect_params(), optimizer, options)
    first = loss(net(X), y).mean().item()
    for _ in range(10):
        for batch, label in loader:
            with autograd.record():
                l = loss(net(batch), label)
            l.backward()
            trainer.step(20)
    assert loss(net(X), y).mean().item() < (0.999 if optimizer == "adadelta" else 0.5) * first


def test_trainers_rules():
    """A step of each rule, as MXNet 1.9.1 writes it."""
    for name, options, expected in [
            ("sgd", {"learning_rate": 0.1, "wd": 0.5}, lambda w, g: w - 0.1 * (g / 2 + 0.5 * w)),
            ("adam", {"learning_rate": 0.1},
             lambda w, g: w - 0.1 * math.sqrt(1 - 0.999) / (1 - 0.9) * (0.1 * g / 2) / (numpy.sqrt(0.001 * (g / 2) ** 2) + 1e-8)),
            ("adagrad", {"learning_rate": 0.1}, lambda w, g: w - 0.1 * (g / 2) / numpy.sqrt((g / 2) ** 2 + 1e-7))]:
        p = gluon.Parameter("w", shape=(3,))
        p.initialize(init.One())
        with autograd.record():
            l = (p.data() * np.array([1, 2, 3])).sum()
        l.backward()
        gluon.Trainer({"w": p}, name, options).step(2)
        same(p.data(), expected(numpy.ones(3), numpy.array([1.0, 2, 3])), 1e-4)


def mlp():
    net = nn.Sequential()
    net.add(nn.Dense(8, activation="relu"), nn.Dense(3))
    net.initialize(init.Xavier())
    return net


def test_mlp_and_parameters():
    net = mlp()
    assert [p.shape for p in net.collect_params().values()] == [(8, -1), (8,), (3, -1), (3,)]
    with pytest.raises(RuntimeError):
        net[0].weight.data()
    assert net(np.ones((2, 4))).shape == (2, 3)
    assert net[0].weight.data().shape == (8, 4) and len(net.collect_params(".*bias")) == 2
    x = numpy.random.default_rng(0).normal(size=(2, 4)).astype("float32")
    w0, b0, w1, b1 = (p.data().asnumpy() for p in net.collect_params().values())
    same(net(np.array(x)), numpy.maximum(x @ w0.T + b0, 0) @ w1.T + b1)
    net.initialize(init.Constant(1), force_reinit=True)
    assert net[0].weight.data()[0].tolist() == [1] * 4 and net[0].bias.data()[0].item() == 0


def test_saving(tmp_path):
    net, other = mlp(), mlp()
    x = np.random.normal(size=(2, 4))
    expected = net(x)
    net.save_parameters(str(tmp_path / "p"))
    other.load_parameters(str(tmp_path / "p"))
    same(other(x), expected.asnumpy())
    npx.save(str(tmp_path / "l"), [x, x * 2])
    assert len(npx.load(str(tmp_path / "l"))) == 2
    npx.save(str(tmp_path / "d"), {"x": x})
    same(npx.load(str(tmp_path / "d"))["x"], x.asnumpy())


def test_own_layers_and_initialisers():
    class Centered(nn.Block):
        def forward(self, X):
            return X - X.mean()

    class Own(nn.Block):
        def __init__(self, units, in_units, **kwargs):
            super().__init__(**kwargs)
            self.weight = self.params.get("weight", shape=(in_units, units))
            self.bias = self.params.get("bias", shape=(units,))

        def forward(self, x):
            return npx.relu(np.dot(x, self.weight.data(ctx=x.ctx)) + self.bias.data(ctx=x.ctx))

    class Wide(init.Initializer):
        def _init_weight(self, name, data):
            data[:] = np.random.uniform(-10, 10, data.shape)
            data *= np.abs(data) >= 5

    net = nn.Sequential()
    net.add(nn.Dense(6), Centered(), Own(3, 6))
    net.initialize(Wide())
    assert net(np.random.uniform(size=(4, 8))).shape == (4, 3)
    values = numpy.abs(net[0].weight.data().asnumpy())
    assert ((values == 0) | (values >= 5)).all() and (values > 0).any()


def naive_convolution(x, w, b, stride, pad):
    x = numpy.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    n, _, h, width = x.shape
    o, _, kh, kw = w.shape
    out = numpy.zeros((n, o, (h - kh) // stride + 1, (width - kw) // stride + 1))
    for i in range(out.shape[2]):
        for j in range(out.shape[3]):
            part = x[:, :, i * stride:i * stride + kh, j * stride:j * stride + kw]
            out[:, :, i, j] = numpy.tensordot(part, w, ([1, 2, 3], [1, 2, 3])) + b
    return out


@pytest.mark.parametrize("stride, pad", [(1, 0), (2, 1), (1, 2)])
def test_convolution(stride, pad):
    layer = nn.Conv2D(3, kernel_size=3, strides=stride, padding=pad)
    layer.initialize()
    x = numpy.random.default_rng(0).normal(size=(2, 2, 7, 8)).astype("float32")
    y = layer(np.array(x))
    same(y, naive_convolution(x, layer.weight.data().asnumpy(), layer.bias.data().asnumpy(), stride, pad), 1e-3)


def test_pooling():
    x = numpy.arange(32, dtype="float32").reshape(1, 2, 4, 4)
    same(nn.MaxPool2D(2)(np.array(x)), x.reshape(1, 2, 2, 2, 2, 2).max((3, 5)))
    same(nn.AvgPool2D(2)(np.array(x)), x.reshape(1, 2, 2, 2, 2, 2).mean((3, 5)))
    same(nn.GlobalAvgPool2D()(np.array(x)), x.mean((2, 3), keepdims=True))
    assert nn.MaxPool2D(3, strides=2, padding=1)(np.array(x)).shape == (1, 2, 2, 2)


def test_average_without_padding():
    x = numpy.random.default_rng(0).normal(size=(1, 2, 4, 4)).astype("float32")
    y = nn.AvgPool2D(3, 1, 1, count_include_pad=False)(np.array(x)).asnumpy()
    numpy.testing.assert_allclose(y[:, :, 0, 0], x[:, :, :2, :2].mean((2, 3)), rtol=1e-5)
    numpy.testing.assert_allclose(y[:, :, 1, 2], x[:, :, 0:3, 1:4].mean((2, 3)), rtol=1e-5)


def lstm_step(x, h, c, w_ih, w_hh, b):
    gates = x @ w_ih.T + h @ w_hh.T + b
    i, f, g, o = numpy.split(gates, 4, 1)
    logistic = lambda t: 1 / (1 + numpy.exp(-t))
    c = logistic(f) * c + logistic(i) * numpy.tanh(g)
    return logistic(o) * numpy.tanh(c), c


def test_lstm():
    layer = gluon.rnn.LSTM(4)
    layer.initialize(init.Uniform(0.5))
    x = numpy.random.default_rng(0).normal(size=(5, 2, 3)).astype("float32")
    output, (h, c) = layer(np.array(x), layer.begin_state(2))
    w_ih, w_hh, b_ih, b_hh = (p.data().asnumpy() for p in layer.collect_params().values())
    assert w_ih.shape == (16, 3) and list(layer.structured())[0] == "l0_i2h_weight"
    state = numpy.zeros((2, 4)), numpy.zeros((2, 4))
    for t in range(5):
        state = lstm_step(x[t], *state, w_ih, w_hh, b_ih + b_hh)
        same(output[t], state[0], 1e-5)
    same(h[0], state[0], 1e-5)
    same(c[0], state[1], 1e-5)


@pytest.mark.parametrize("kind", [gluon.rnn.RNN, gluon.rnn.GRU, gluon.rnn.LSTM])
def test_recurrent_layers_learn(kind):
    """The sum of a sequence, read by two layers in both directions."""
    net = nn.Sequential()
    net.add(kind(8, 2, layout="NTC", bidirectional=True), nn.Dense(1))
    net.initialize(init.Xavier())
    x = np.random.normal(0, 1, (32, 4, 2))
    y, loss = x.sum(axis=(1, 2)).reshape(-1, 1), gluon.loss.L2Loss()
    trainer, losses = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02}), []
    for _ in range(40):
        with autograd.record():
            l = loss(net(x), y)
        l.backward()
        trainer.step(32)
        losses.append(l.mean())
    assert losses[-1].item() < 0.3 * losses[0].item()


def test_threads_add_each_gradient_once(monkeypatch):
    found = autograd._native_grad

    def found_slowly(array):
        gradient = found(array)
        time.sleep(0.001)  # the other thread finds the same one meanwhile
        return gradient

    def add():
        x = np.ones(2)
        x.attach_grad("add")
        for _ in range(20):
            with autograd.record():
                y = x * 2
            y.backward()
        sums.append(x.grad.tolist())

    monkeypatch.setattr(autograd, "_native_grad", found_slowly)
    sums = []
    threads = [threading.Thread(target=add) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sums == [[40, 40]] * 2


@pytest.mark.parametrize("metric", [gluon.metric.Accuracy(), gluon.metric.TopKAccuracy(2), gluon.metric.CrossEntropy()])
def test_metrics_count_no_label_twice(metric):
    for labels in (np.array([0]), np.array([0, 1, 0])):
        with pytest.raises(ValueError, match=f"{labels.size} labels for 2 predictions"):
            metric.update(labels, np.array([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125]]))
    assert numpy.isnan(metric.get()[1])


def test_metrics():
    metric = gluon.metric.Accuracy()
    assert numpy.isnan(metric.get()[1])
    metric.update(np.array([0, 1]), np.array([[2.0, 1], [3, 1]]))
    metric.update([np.array([1, 1])], [np.array([[0.0, 1], [0, 1]])])
    assert metric.get() == ("accuracy", 0.75)
    error = gluon.metric.RMSE()
    error.update(np.array([1.0, 2]), np.array([1.0, 4]))
    assert abs(error.get()[1] - math.sqrt(2)) < 1e-6
    mean = gluon.metric.Loss()
    mean.update(None, np.array([1.0, 2]))
    assert mean.get()[1] == 1.5
    metric.reset()
    assert metric.get_name_value()[0][0] == "accuracy"


def test_batch_normalisation():
    layer = nn.BatchNorm()
    layer.initialize()
    x = numpy.random.default_rng(0).normal(2, 3, size=(8, 3, 4, 4)).astype("float32")
    mean, var = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
    with autograd.record():
        y = layer(np.array(x))
    same(y, (x - mean) / numpy.sqrt(var + 1e-5), 1e-3)
    same(layer.running_mean.data(), 0.1 * mean.reshape(-1), 1e-4)
    same(layer(np.array(x)), (x - 0.1 * mean) / numpy.sqrt(0.9 + 0.1 * var + 1e-5), 1e-3)


def test_dropout():
    layer, x = nn.Dropout(0.5), np.ones((100, 100))
    same(layer(x), numpy.ones((100, 100)))
    with autograd.record():
        y = layer(x).asnumpy()
    assert set(numpy.unique(y)) == {0, 2} and 0.4 < (y == 0).mean() < 0.6


@pytest.mark.parametrize("axes, shape", [((), (100, 30)), ((0,), (1, 30)), ((1,), (100, 1))])
def test_what_dropout_drops_depends_on_the_seed_alone(axes, shape):
    def dropped(seed, p=0.3):
        npx.random.seed(seed)
        x = np.ones((100, 30))
        x.attach_grad()
        with autograd.record():
            y = npx.dropout(x, p, axes=axes)
        y.backward()
        assert numpy.array_equal(y.asnumpy(), x.grad.asnumpy())
        return y.asnumpy()

    first = dropped(1)
    assert numpy.array_equal(first, dropped(1)) and not numpy.array_equal(first, dropped(2))
    assert numpy.array_equal(first, numpy.broadcast_to(first[:shape[0], :shape[1]], (100, 30)))
    same(np.array(numpy.unique(first)), [0, 1 / 0.7])
    assert abs((dropped(1, 0.1) == 0).mean() - 0.1) < 0.07 and not dropped(1, 1).any()


def test_lenet_learns():
    net = nn.Sequential()
    net.add(nn.Conv2D(channels=4, kernel_size=5, padding=2, activation="sigmoid"), nn.AvgPool2D(pool_size=2, strides=2),
            nn.Conv2D(channels=8, kernel_size=3, activation="sigmoid"), nn.BatchNorm(), nn.AvgPool2D(pool_size=2, strides=2),
            nn.Dense(16, activation="sigmoid"), nn.Dense(2))
    net.initialize(init=init.Xavier())
    x = np.random.normal(size=(32, 1, 12, 12))
    y = np.array((x.asnumpy()[:, 0, :6].sum((1, 2)) > x.asnumpy()[:, 0, 6:].sum((1, 2))).astype("float32"))
    loss, trainer = gluon.loss.SoftmaxCrossEntropyLoss(), gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02})
    losses = []
    for _ in range(25):
        with autograd.record():
            l = loss(net(x), y)
        l.backward()
        trainer.step(32)
        losses.append(l.mean().item())
    assert losses[-1] < 0.6 * losses[0]


def test_residual_network():
    class Residual(nn.Block):
        def __init__(self, channels, use_1x1conv=False, strides=1, **kwargs):
            super().__init__(**kwargs)
            self.conv1 = nn.Conv2D(channels, kernel_size=3, padding=1, strides=strides)
            self.conv2 = nn.Conv2D(channels, kernel_size=3, padding=1)
            self.conv3 = nn.Conv2D(channels, kernel_size=1, strides=strides) if use_1x1conv else None
            self.bn1, self.bn2 = nn.BatchNorm(), nn.BatchNorm()

        def forward(self, X):
            Y = npx.relu(self.bn1(self.conv1(X)))
            Y = self.bn2(self.conv2(Y))
            return npx.relu(Y + (self.conv3(X) if self.conv3 else X))

    block = Residual(6, use_1x1conv=True, strides=2)
    block.initialize()
    assert block(np.random.uniform(size=(4, 3, 6, 6))).shape == (4, 6, 3, 3)
    assert len(block.collect_params()) == 14


def test_losses():
    rng = numpy.random.default_rng(0)
    pred, label = rng.normal(size=(4, 3)).astype("float32"), rng.integers(0, 3, 4)
    logs = pred - numpy.log(numpy.exp(pred).sum(1, keepdims=True))
    same(gluon.loss.SoftmaxCrossEntropyLoss()(np.array(pred), np.array(label)), -logs[range(4), label])
    target = rng.normal(size=(4, 3)).astype("float32")
    same(gluon.loss.L2Loss()(np.array(pred), np.array(target)), ((pred - target) ** 2 / 2).mean(1))
    same(gluon.loss.L1Loss()(np.array(pred), np.array(target)), numpy.abs(pred - target).mean(1))
    binary = (target > 0).astype("float32")
    p = 1 / (1 + numpy.exp(-pred))
    same(gluon.loss.SigmoidBCELoss()(np.array(pred), np.array(binary)),
         -(binary * numpy.log(p) + (1 - binary) * numpy.log(1 - p)).mean(1), 1e-4)
    same(npx.sequence_mask(np.array(pred), np.array([1, 3, 2]), True, -1, axis=0),
         numpy.where(numpy.arange(4)[:, None] < numpy.array([1, 3, 2]), pred, -1))


def test_learning_rates():
    rate = lr_scheduler.FactorScheduler(step=2, factor=0.5, base_lr=1)
    assert [rate(t) for t in range(1, 7)] == [1, 1, 0.5, 0.5, 0.25, 0.25]
    assert lr_scheduler.CosineScheduler(10, base_lr=1, final_lr=0)(10) == pytest.approx(0)


def test_fashion_mnist_says_where_it_looked(tmp_path):
    with pytest.raises(FileNotFoundError, match=str(tmp_path)):
        gluon.data.vision.FashionMNIST(str(tmp_path))
    images = numpy.arange(2 * 28 * 28, dtype="uint8").reshape(2, 28, 28)
    (tmp_path / "train-images-idx3-ubyte").write_bytes(bytes([0, 0, 8, 3]) + numpy.array([2, 28, 28], ">i4").tobytes() + images.tobytes())
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1]) + numpy.array([2], ">i4").tobytes() + bytes([7, 9]))
    data = gluon.data.vision.FashionMNIST(str(tmp_path)).transform_first(gluon.data.vision.transforms.ToTensor())
    image, label = data[1]
    assert image.shape == (1, 28, 28) and label == 9
    x, y = next(iter(gluon.data.DataLoader(data, 2)))
    same(x[:, 0], images / 255)


ITEMS = numpy.random.default_rng(0).normal(size=(23, 2)).astype("float32")


@pytest.mark.parametrize("make", [
    lambda **workers: gluon.data.DataLoader(gluon.data.ArrayDataset(ITEMS, numpy.arange(23)), 5, shuffle=True, **workers),
    lambda **workers: gluon.data.DataLoader(gluon.data.ArrayDataset(np.array(ITEMS)), 5, last_batch="rollover", **workers),
    lambda **workers: gluon.data.DataLoader(gluon.data.SimpleDataset(list(range(23))).transform(lambda v: np.ones(2) * v), 5, **workers),
    lambda **workers: gluon.data.DataLoader(ITEMS, 5, sampler=gluon.data.FilterSampler(lambda v: v[0] > 0, ITEMS), **workers),
    lambda **workers: gluon.data.DataLoader(ITEMS, batch_sampler=[[3, 1], [4], [22, 0, 7]], batchify_fn=lambda rows: np.array(sum(rows)), **workers)])
@pytest.mark.parametrize("workers", [{"num_workers": 1}, {"num_workers": 3}, {"num_workers": 2, "prefetch": 0}, {"num_workers": 1, "prefetch": 50}])
def test_workers_read_the_same_batches(make, workers):
    found = []
    for options in ({}, workers):
        npx.random.seed(4)
        loader = make(**options)
        found.append([batch for _ in range(3) for batch in loader] + [np.random.normal(size=(2,))])
    assert len(found[0]) == len(found[1]) > 3
    for one, other in zip(*found):
        for a, b in zip(*(x if isinstance(x, list) else [x] for x in (one, other))):
            assert a.dtype == b.dtype
            same(a, b.asnumpy(), 0)


class _Noted:
    """Items that are noted when they are read."""

    def __init__(self):
        self.read, self.fourth = [], threading.Event()

    def __len__(self):
        return 9

    def __getitem__(self, index):
        self.read.append(index)
        if index == 3:
            self.fourth.set()
        if index == 7:
            raise KeyError("item 7")
        return float(index)


def test_workers_read_ahead():
    data = _Noted()
    batches = iter(gluon.data.DataLoader(data, 1, num_workers=1, prefetch=3))
    assert data.read == [] and next(batches).tolist() == [0]
    assert data.fourth.wait(60) and max(data.read) == 3
    assert [batch.item() for batch in (next(batches) for _ in range(6))] == [1, 2, 3, 4, 5, 6]
    with pytest.raises(KeyError, match="item 7"):
        next(batches)
    data = _Noted()
    batches = iter(gluon.data.DataLoader(data, 1))
    assert next(batches).tolist() == [0] and data.read == [0]


def test_a_loop_that_ends_early_leaves_no_worker():
    before = threading.active_count()
    for _ in gluon.data.DataLoader(_Noted(), 1, num_workers=3):
        break
    assert threading.active_count() == before


def test_what_workers_draw_depends_on_the_seed_alone():
    def epoch(workers, seed=3):
        npx.random.seed(seed)
        data = gluon.data.SimpleDataset(list(range(20))).transform(lambda v: np.random.normal(v, 1, (3,)) + np.random.randint(0, 9, (3,)))
        loader = gluon.data.DataLoader(data, 3, num_workers=workers)
        return numpy.concatenate([batch.asnumpy() for _ in range(2) for batch in loader])

    first = epoch(1)
    assert numpy.array_equal(first, epoch(1)) and numpy.array_equal(first, epoch(4)) and not numpy.array_equal(first, epoch(4, 5))
    assert len(numpy.unique(first % 1)) > 110  # of 120: both epochs have their own


def test_several_devices():
    program = """
        from asyncgrad.mxnet import autograd, cpu_as_gpus, gluon, gpu, init, np, npx
        from asyncgrad.mxnet.gluon import nn
        from asyncgrad import d2l
        cpu_as_gpus(2)
        devices = d2l.try_all_gpus()
        net = nn.Dense(1, in_units=2)
        net.initialize(ctx=devices)
        X, y = np.ones((8, 2)), np.ones((8, 1))
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        for _ in range(50):
            Xs, ys = gluon.utils.split_and_load(X, devices), gluon.utils.split_and_load(y, devices)
            with autograd.record():
                losses = [gluon.loss.L2Loss()(net(a), b) for a, b in zip(Xs, ys)]
            for l in losses:
                l.backward()
            trainer.step(8)
        a, b = net.weight.list_data()
        print(devices, a.ctx, b.ctx, (a.asnumpy() == b.asnumpy()).all(), abs(net(X.as_in_ctx(gpu(0))).mean().item() - 1) < 0.01)
        p = gluon.Parameter("w", shape=(1,))
        p.initialize(init.One(), ctx=devices)
        trainer = gluon.Trainer([p], "sgd", {"learning_rate": 1})
        for parts in (devices, devices[:1]):
            for device in parts:
                with autograd.record():
                    l = p.data(device).sum()
                l.backward()
            trainer.step(1, ignore_stale_grad=True)
            print([x.tolist() for x in p.list_data()])
        print(repr(np.ones(2, ctx=gpu(1))), npx.num_gpus(), X.copyto(gpu(1)).ctx)
        class Own(init.Initializer):
            def _init_weight(self, name, data):
                data[:] = np.arange(data.size).reshape(data.shape)
        late = nn.Dense(2)
        late.initialize(Own())
        late.collect_params().reset_ctx(gpu(1))
        late.bias.data()[1:] = np.ones(1)
        print(late(np.ones((1, 3), ctx=gpu(1))), late.weight.data().ctx)
        x = np.array([[9, 2, 3]], ctx=gpu(1))
        x[[0], [0]] = np.array([1])
        print(x[np.array([0, 0]), np.array([2, 1], ctx=gpu(1))], x[np.array([0])].ctx, x[[0], np.array([1])].ctx)
        print(np.where(x > 1, x, 0), np.where(x > 1, 0, x).ctx, npx.sequence_mask(x, np.array([1, 0, 1], ctx=gpu(1)), True, -1))
        """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=120)
    assert done.stdout.split("\n")[:7] == ["[gpu(0), gpu(1)] gpu(0) gpu(1) True True", "[[-1.0], [-1.0]]", "[[-2.0], [-2.0]]",
                                           "array([1., 1.], ctx=gpu(1)) 2 gpu(1)", "[[ 3. 13.]] @gpu(1) gpu(1)",
                                           "[3. 2.] @gpu(1) gpu(1) gpu(1)", "[[0. 2. 3.]] @gpu(1) gpu(1) [[ 1. -1.  3.]] @gpu(1)"], done.stderr


def test_install():
    program = """
        import asyncgrad.mxnet
        asyncgrad.mxnet.install()
        from mxnet import autograd, gluon, np, npx
        from mxnet.gluon import nn
        import mxnet as mx
        import mxnet.gluon.data.vision
        print(mx.np.ones(2), isinstance(nn.Dense(1), mx.gluon.Block))
        """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[1. 1.] True", done.stderr


def test_stopwatches(capsys):
    timer = d2l.Timer()
    timer.stop()
    with d2l.Benchmark("sums"):
        pass
    assert capsys.readouterr().out.startswith("sums: 0.0") and len(timer.cumsum()) == 1 and d2l.try_gpu() == cpu()


def test_missing_names_say_so():
    with pytest.raises(AttributeError, match="fft"):
        _ = np.fft
    with pytest.raises(NotImplementedError, match="Resize"):
        gluon.data.vision.transforms.Resize(3, keep_ratio=True)


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_a_cell_computes_what_the_layer_does(name):
    """MXNet's own cells refuse arrays of mxnet.np, so the layer, which is compared with MXNet's, is the reference."""
    options = {"activation": "tanh"} if name == "RNN" else {}
    layer, cell = getattr(gluon.rnn, name)(3, **options), getattr(gluon.rnn, f"{name}Cell")(3)
    x = np.random.normal(size=(5, 2, 4))
    for block in (layer, cell):
        block.initialize()
    layer(x)
    cell(x[0], cell.begin_state(2))
    for part in ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias"):
        value = np.random.normal(size=getattr(cell, part).shape)
        getattr(cell, part).set_data(value)
        getattr(layer, f"l0_{part}").set_data(value)
    expected, expected_states = layer(x, layer.begin_state(2))
    found, states = cell.unroll(5, x, layout="TNC", merge_outputs=True)
    numpy.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-5, atol=1e-6)
    for a, b in zip(states, expected_states):
        numpy.testing.assert_allclose(a.asnumpy(), b.asnumpy()[0], rtol=1e-5, atol=1e-6)
    by_hand, _ = cell.unroll(5, [row for row in x])
    assert len(by_hand) == 5 and by_hand[4].shape == (2, 3)


def test_cells_in_a_row():
    cells = gluon.rnn.SequentialRNNCell()
    for cell in (gluon.rnn.LSTMCell(3), gluon.rnn.DropoutCell(0.5), gluon.rnn.GRUCell(2)):
        cells.add(cell)
    cells.initialize()
    output, states = cells.unroll(4, np.ones((2, 4, 3)), merge_outputs=True)
    assert output.shape == (2, 4, 2) and [s.shape for s in states] == [(2, 3), (2, 3), (2, 2)] and len(cells) == 3


@pytest.mark.parametrize("call, name", [
    (lambda x: np.sum(x, initial=3), "np.sum.initial"),
    (lambda x: np.exp(x, where=x > 0), "np.exp.where"),
    (lambda x: npx.log_softmax(x, temperature=2.0), "npx.log_softmax.temperature"),
    (lambda x: npx.pooling(x.reshape(1, 1, 2, 2), (2, 2), pooling_convention="full"), "npx.pooling.pooling_convention"),
    (lambda x: np.trace(x, axis1=1), "np.trace.axis1=1"), (lambda x: np.diff(x, prepend=0), "np.diff.prepend=0"),
    (lambda x: np.allclose(x, x, equal_nan=True), "np.allclose.equal_nan"), (lambda x: npx.erf(x, out=x), "npx.erf.out"),
    (lambda x: np.linalg.norm(x, other=1), "np.linalg.norm.other"), (lambda x: np.random.choice(3, dtype="int32"), "np.random.choice.dtype"),
    (lambda x: np.exp(x, dtype="float64"), "np.exp.dtype"), (lambda x: np.add(x, x, dtype="float64"), "np.add.dtype"),
    (lambda x: np.concatenate([x, x], dtype="float64"), "np.concatenate.dtype"), (lambda x: npx.relu(x, dtype="float64"), "npx.relu.dtype"),
    (lambda x: gluon.rnn.LSTM(2, projection_size=1), "LSTM.projection_size"),
    (lambda x: gluon.rnn.LSTMCell(2, activation="relu"), "LSTMCell.activation"),
    (lambda x: gluon.metric.MAE(output_names=["a"]), "MAE.output_names"),
])
def test_arguments_that_are_missing_raise(call, name):
    with pytest.raises(NotImplementedError, match=name):
        call(np.ones((2, 2)))


def test_arguments_that_switch_nothing_on_are_taken():
    x = np.ones((2, 2))
    assert npx.erf(x, out=None, name="y").shape == (2, 2) and np.trace(x, offset=0, out=None).item() == 2
    assert np.column_stack(tup=[x, x]).shape == (2, 4) and np.array_equal(a1=x, a2=x) and gluon.metric.MAE(label_names=None).name == "mae"
