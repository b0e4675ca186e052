"""Layers of the C++ library, and gradients of several tensors and of gradients."""
import collections
import copy
import inspect
import pickle

import numpy as np
import pytest

import asyncgrad as ag
import asyncgrad.d2l
import asyncgrad.torch
from asyncgrad import mxnet

LAYERS = {
    "LayerNorm": (lambda: ag.nn.LayerNorm(4), (3, 4), ["weight", "bias"]),
    "RMSNorm": (lambda: ag.nn.RMSNorm(4), (3, 4), ["weight"]),
    "Conv2d": (lambda: ag.nn.Conv2d(4, 4, 3, "relu", padding=1, groups=2), (2, 4, 5, 5), ["weight", "bias"]),
    "Conv1d": (lambda: ag.nn.Conv1d(4, 4, 3, padding=1, bias=False), (2, 4, 5), ["weight"]),
    "ConvTranspose2d": (lambda: ag.nn.ConvTranspose2d(4, 4, 3, "relu", padding=1, groups=2), (2, 4, 5, 5), ["weight", "bias"]),
    "ConvTranspose1d": (lambda: ag.nn.ConvTranspose1d(4, 4, 3, padding=1, bias=False), (2, 4, 5), ["weight"]),
    "BatchNorm": (lambda: ag.nn.BatchNorm(4), (3, 4, 2), ["weight", "bias", "running_mean", "running_var"]),
    "MaxPool2d": (lambda: ag.nn.MaxPool2d(3, stride=1, padding=1), (2, 4, 5, 5), []),
    "AvgPool2d": (lambda: ag.nn.AvgPool2d((1, 3), stride=1, padding=(0, 1)), (2, 4, 5, 5), []),
    "Dropout": (lambda: ag.nn.Dropout(0.5), (3, 4), []),
    "RNN": (lambda: ag.nn.RNN(4, 4, activation="relu"), (2, 3, 4), ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]),
    "GRU": (lambda: ag.nn.GRU(4, 4, bias=False), (2, 3, 4), ["weight_ih", "weight_hh"]),
    "LSTM": (lambda: ag.nn.LSTM(4, 4), (2, 3, 4), ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]),
    "MultiHeadAttention": (lambda: ag.nn.MultiHeadAttention(4, 2, causal=True), (2, 3, 4), ["qkv", "out"]),
    "TransformerBlock": (lambda: ag.nn.TransformerBlock(4, 2, hidden_features=8), (2, 3, 4), ["norm1", "attention", "norm2", "up", "down"]),
    "PositionalEncoding": (lambda: ag.nn.PositionalEncoding(8, 4), (2, 3, 4), ["table"]),
    "Dense": (lambda: ag.nn.Dense(4, 4, "tanh"), (3, 4), ["weight", "bias"]),
    "Dense of sequences": (lambda: ag.nn.Dense(4, 4, "relu"), (2, 3, 4), ["weight", "bias"]),
    "Residual": (lambda: ag.nn.Residual(ag.nn.Dense(4, 4)), (3, 4), ["layer"]),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name, tmp_path):
    make, shape, members = LAYERS[name]
    net = ag.nn.Sequential(make())
    x = ag.randn(*shape)
    assert net(x).shape == shape
    own = net[0].members()
    if name in ("RNN", "GRU", "LSTM"):
        own = own["weights"]["0"]
    assert list(own) == members
    with ag.evaluation():
        expected = np.array(net(x))
    ag.save(tmp_path / "file", net)
    for other in (ag.load(tmp_path / "file", ag.nn.Sequential(make())), copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        np.testing.assert_array_equal(np.asarray(other.eval()(x)), expected)
        assert all(a._address() != b._address() for (_, a), (_, b) in zip(net.state(), other.state()))
    if net.parameters():
        sgd = ag.optim.SGD(net.parameters(), lr=0.1)
        net(x).sum().backward()
        before = [np.array(p) for p in net.parameters()]
        sgd.step()
        assert any((a != np.asarray(p)).any() for a, p in zip(before, net.parameters()))
        assert net.to("float64").parameters()[0].dtype == ag.float64


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_number_as_weight_of_a_loss_takes_the_type_of_the_prediction(dtype):
    x, y = ag.array([[1.0, 2.0]], dtype), ag.array([[0.0, 1.0]], dtype)
    assert ag.nn.l1_loss(x, y, weight=2).tolist() == ag.nn.L1Loss(weight=2.0)(x, y).tolist() == [2]
    expected = ag.nn.binary_cross_entropy(x, y, positive_weight=ag.full((1,), 2, dtype)).tolist()
    assert ag.nn.binary_cross_entropy(x, y, positive_weight=2.0).tolist() == ag.nn.BinaryCrossEntropy(positive_weight=2)(x, y).tolist() == expected


class Tied(ag.nn.Module):
    def __init__(self):
        self.first, self.last = ag.nn.Dense(3, 3), ag.nn.Dense(3, 3)
        self.own = ag.parameter(ag.ones(3))
        self.last.weight, self.last.bias = self.first.weight, self.own


def test_pickles_keep_what_layers_share():
    net = Tied()
    again, parameters = pickle.loads(pickle.dumps((net, net.parameters())))
    assert len(net.parameters()) == len(again.parameters()) == len(parameters) == 3
    with ag.no_grad():
        for parameter in parameters:
            parameter[...] = 7
    for tensor in (again.first.weight, again.last.weight, again.own, again.last.bias):
        assert (tensor.numpy() == 7).all()
    assert not (net.first.weight.numpy() == 7).any()


def test_embedding():
    layer = ag.nn.Embedding(5, 3)
    assert ag.array_equal(layer(ag.array([[1, 4]])), layer.weight[[[1, 4]]]) and layer.scores(ag.ones(2, 3)).shape == (2, 5)
    with pytest.raises(ag.Error):
        layer(ag.array([5])).wait()


def test_embedding_changes_the_rows_that_it_used():
    ag.manual_seed(1)
    layer = ag.nn.Embedding(5, 3, row_gradients=True)
    adam, before = ag.optim.Adam(layer.parameters(), weight_decay=0.1), np.array(layer.weight)
    layer(ag.array([4, 1, 4])).sum().backward()
    with pytest.raises(ValueError, match=r"kept by rows.* and ag\.grad\(\) computes one"):
        str(layer.weight.grad)
    adam.step()
    changed = (np.asarray(layer.weight) != before).all(1)
    assert changed.tolist() == [False, True, False, False, True]
    adam.zero_grad()
    assert layer.weight.grad is None


def test_layer_norm_computes():
    x = np.random.default_rng(0).normal(size=(3, 5))
    expected = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(np.asarray(ag.nn.LayerNorm(5, dtype="float64")(ag.array(x))), expected, rtol=1e-6)
    np.testing.assert_allclose(np.asarray(ag.layer_norm(ag.array(x))), expected, rtol=1e-6)


def windows(x, size, padding, fill):
    """The parts of x (N, C, H, W) under a window at each place, with steps of 1: (N, C, P, Q, size, size)."""
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)), constant_values=fill)
    return np.lib.stride_tricks.sliding_window_view(x, (size, size), axis=(2, 3))


def test_convolutions_and_pooling_compute():
    random = np.random.default_rng(0)
    x, w, b = random.normal(size=(2, 3, 5, 6)), random.normal(size=(4, 3, 3, 3)), random.normal(size=4)
    expected = np.einsum("ncpqij,ocij->nopq", windows(x, 3, 1, 0), w) + b[:, None, None]
    y = ag.conv2d(ag.array(x), w, b, padding=1)
    np.testing.assert_allclose(np.asarray(y), expected, rtol=1e-10, atol=1e-12)
    y = ag.conv2d(ag.array(x), w, stride=(2, 3), padding=[1, 1])
    np.testing.assert_allclose(np.asarray(y), (expected - b[:, None, None])[:, :, ::2, ::3], rtol=1e-10, atol=1e-12)
    y = ag.conv1d(ag.array(x[:, :, 0]), w[:, :, 0], b)
    line = np.lib.stride_tricks.sliding_window_view(x[:, :, 0], 3, axis=2)
    np.testing.assert_allclose(np.asarray(y), np.einsum("ncpi,oci->nop", line, w[:, :, 0]) + b[:, None], rtol=1e-10)
    largest = windows(x, 3, 1, -np.inf).max((-2, -1))
    np.testing.assert_array_equal(np.asarray(ag.max_pool2d(ag.array(x), 3, 1, 1)), largest)
    means = windows(x, 3, 1, 0).mean((-2, -1))
    np.testing.assert_allclose(np.asarray(ag.avg_pool2d(ag.array(x), (3, 3), stride=2, padding=1)), means[:, :, ::2, ::2])
    np.testing.assert_allclose(np.asarray(ag.nn.GlobalAvgPool2d()(ag.array(x))), x.mean((2, 3)))
    for bad in (lambda: ag.conv2d(x, w, groups=2), lambda: ag.max_pool2d(x, (1, 2, 3)), lambda: ag.nn.Conv2d(0, 1, 3),
                lambda: ag.nn.GlobalAvgPool2d()(ag.ones(2)), lambda: ag.nn.Conv2d(1, 1, 3, "loud")):
        with pytest.raises(ValueError):
            bad()


def test_batch_norm_computes():
    x = np.random.default_rng(0).normal(2, 3, size=(6, 4, 5))
    mean, var = x.mean((0, 2)), x.var((0, 2))
    expected = (x - mean[:, None]) / np.sqrt(var[:, None] + 1e-5)
    for found, wanted in zip(ag.batch_norm(ag.array(x)), (expected, mean, var)):
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-9)
    np.testing.assert_allclose(np.asarray(ag.batch_norm_with(ag.array(x), mean, var, epsilon=1e-5)), expected, rtol=1e-9)
    layer = ag.nn.BatchNorm(4, momentum=0.25, dtype="float64")
    np.testing.assert_allclose(np.asarray(layer(ag.array(x))), expected, rtol=1e-9)
    np.testing.assert_allclose(np.asarray(layer.running_mean), 0.25 * mean, rtol=1e-9)
    np.testing.assert_allclose(np.asarray(layer.running_var), 0.75 + 0.25 * var * 30 / 29, rtol=1e-9)
    kept = np.array(layer.running_var)
    layer.eval()(ag.array(x))
    np.testing.assert_array_equal(np.asarray(layer.running_var), kept)
    assert len(layer.parameters()) == 2 and len(layer.state()) == 4


def test_recurrent_states():
    lstm = ag.nn.LSTM(4, 6, layers=2, both_directions=True)
    output, h, c = lstm.run(ag.randn(5, 3, 4), lengths=ag.array([5, 2, 0]))
    assert output.shape == (5, 3, 12) and h.shape == c.shape == (4, 3, 6)
    assert not np.asarray(output)[2:, 1].any()
    _, h, c = lstm.run(ag.randn(5, 3, 4), h=h, c=c)
    assert len(ag.nn.GRU(4, 6).run(ag.randn(2, 1, 4))) == 2


def test_dropout():
    net = ag.nn.Sequential(ag.nn.Dropout(0.5))
    x = ag.ones(100, 100)
    assert set(np.unique(net(x))) == {0, 2} and ag.array_equal(net.eval()(x), x)
    with ag.evaluation():
        assert ag.array_equal(net.train()(x), x)


def test_attention():
    q, k, v = (np.random.default_rng(i).normal(size=(2, 3, 4)) for i in range(3))
    scores = q @ k.transpose(0, 2, 1) / 2
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    y = ag.scaled_dot_product_attention(ag.array(q), ag.array(k), ag.array(v))
    np.testing.assert_allclose(np.asarray(y), weights @ v, rtol=1e-6)


def test_gradients_as_values():
    x, w = ag.array([1.0, 2.0]).requires_grad_(), ag.array([3.0, 4.0]).requires_grad_()
    gx, gw = ag.grad((x * w).sum(), [x, w])
    assert gx.tolist() == [3, 4] and gw.tolist() == [1, 2] and x.grad is None
    dx = ag.grad((x ** 3).sum(), x, create_graph=True)
    dx.sum().backward()
    assert x.grad.tolist() == [6, 12]
    assert ag.grad(x.sum(), [x, w], allow_unused=True)[1] is None
    h = x * 2
    h.retain_grad()
    ag.backward([h, h * 3], [ag.ones(2), ag.array([1.0, 0.0])])
    assert h.grad.tolist() == [4, 1]
    with pytest.raises(ValueError):
        ag.grad(x.sum(), w)


def test_recomputing():
    net = ag.nn.Sequential(ag.nn.Dense(4, 8, "relu"), ag.nn.Dropout(0.5), ag.nn.Dense(8, 1))
    x = ag.randn(16, 4)

    def gradients(function):
        ag.manual_seed(3)
        net.zero_grad()
        function(x).sum().backward()
        return [np.array(p.grad) for p in net.parameters()]

    expected = gradients(net)
    for function in (lambda x: ag.nn.recompute(net, x), ag.nn.Recompute(net)):
        for a, b in zip(expected, gradients(function)):
            np.testing.assert_array_equal(a, b)
    with pytest.raises(KeyError):
        ag.nn.recompute(lambda x: {}[1], x)


def test_detect_nan():
    with ag.detect_nan():
        y = ag.log(ag.array([-1.0])) + 1
    with pytest.raises(ag.Error, match="log") as caught:
        y.wait()
    assert caught.value.file == __file__


def parts_of(space, path):
    for name, value in vars(space).items():
        if not name.startswith("_") and str(getattr(value, "__module__", "asyncgrad")).startswith("asyncgrad"):
            yield f"{path}.{name}", value
            if isinstance(value, type):
                yield from parts_of(value, f"{path}.{name}")


@pytest.mark.parametrize("module", [
    ag, ag.nn, ag.nn.init, ag.optim, ag.data, ag.profiler, asyncgrad.torch, asyncgrad.d2l, mxnet, mxnet.np, mxnet.np.random,
    mxnet.npx, mxnet.autograd, mxnet.context, mxnet.init, mxnet.lr_scheduler, mxnet.image, mxnet.gluon, mxnet.gluon.nn,
    mxnet.gluon.rnn, mxnet.gluon.loss, mxnet.gluon.metric, mxnet.gluon.utils, mxnet.gluon.data, mxnet.gluon.data.vision,
    mxnet.gluon.data.vision.transforms], ids=lambda module: module.__name__)
def test_everything_says_what_it_does(module):
    silent = []
    for path, value in parts_of(module, module.__name__):
        if callable(value) or isinstance(value, property):
            text = (inspect.getdoc(value) or "").strip()  # a method's may be that of the method it overrides
            # The first line of a function of the extension is its signature.
            if text.startswith(path.rpartition(".")[2] + "("):
                text = text.partition("\n")[2].strip()
            if not text:
                silent.append(path)
    assert silent == []


@pytest.mark.parametrize("training", [True, False])
def test_recompute_trains_or_evaluates_as_the_first_time(training):
    def gradients(call):
        ag.manual_seed(1)
        net = ag.nn.Sequential(ag.nn.BatchNorm(4), ag.nn.Residual(ag.nn.Dropout(0.5)), ag.nn.Dense(4, 3))
        net.train(training)
        net[1].layer.train()  # whatever the others do
        x = ag.parameter(ag.randn(8, 4))
        y = call(net, x)
        net.train(not training)
        (y * y).sum().backward()
        assert [module.training for _, module in net.modules()] == [not training] * 5
        return [np.asarray(t.grad).tobytes() for t in [x, *net.parameters()]]

    wanted = gradients(lambda net, x: net(x))
    assert gradients(ag.nn.recompute) == wanted
    assert gradients(lambda net, x: ag.nn.recompute(net.forward, x)) == wanted
    assert gradients(lambda net, x: ag.nn.Recompute(net)(x)) == wanted


def test_a_tensor_assigned_to_a_layer_is_its_own():
    table = ag.parameter(ag.arange(6).astype("float32").reshape(3, 2))
    layer = ag.nn.Embedding(3, 2)
    layer.weight = table
    assert layer(ag.array([2])).tolist() == [[4, 5]] and layer.parameters()[0]._address() == table._address()
    layer(ag.array([1])).sum().backward()
    assert table.grad.tolist() == [[0, 0], [1, 1], [0, 0]]
    layer.other = table  # any other name is an attribute of Python
    assert layer.other is table


def test_flattened_batches_without_samples():
    assert ag.nn.Flatten()(ag.ones(0, 3, 4)).shape == (0, 12) and ag.nn.Flatten()(ag.ones(2, 3, 4)).shape == (2, 12)


def test_signatures_are_those_of_the_library():
    assert str(inspect.signature(ag.nn.Dense)) == (
        "(in_features: int, out_features: int, activation=None, bias: bool = True, initialiser='xavier_uniform', "
        "dtype=None, device=None, generator=None)")
    assert str(inspect.signature(ag.optim.SGD)) == (
        "(parameters, *, lr: float = 0.01, momentum: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False)")
    assert "lr: float = 0.01" in ag.optim.SGD.__init__.__doc__ and "lr=0.01" in ag.optim.SGD.__doc__
    assert "activation='gelu'" in ag.nn.TransformerBlock.__doc__ and "activation='tanh'" in ag.nn.RNN.__doc__

    class Own(ag.nn.Dense):
        def __init__(self, size):
            super().__init__(size, size)

    assert str(inspect.signature(Own)) == "(size)" and str(inspect.signature(Own(2))) == "(*args, **kwargs) -> Any"


@pytest.mark.parametrize("make, error", [
    (lambda: ag.nn.Dense(inputs=2, outputs=3), "Dense has no parameter inputs; it has in_features, out_features, activation=None"),
    (lambda: ag.nn.Dense(2), "Dense needs out_features"),
    (lambda: ag.nn.Dense(2, 3, in_features=2), "Dense gets in_features twice"),
    (lambda: ag.nn.Flatten(1), "Flatten takes no arguments"),
    (lambda: ag.nn.Dense("2", 3), r"\[Dense\] in_features must be an integer, got '2'"),
    (lambda: ag.nn.Dense(2, 3, bias=1), r"\[Dense\] bias must be True or False, got 1"),
    (lambda: ag.nn.Dense(2, 3, 7), r"\[Dense\] activation must be a name or a function, got 7"),
    (lambda: ag.nn.TransformerBlock(4, 2, activation=abs), r"\[TransformerBlock\] activation must be the name"),
    (lambda: ag.nn.Dropout("a"), r"\[Dropout\] p must be a number, got 'a'"),
    (lambda: ag.optim.SGD([], learning_rate=1), "SGD has no parameter learning_rate; it has parameters, lr=0.01"),
    (lambda: ag.optim.SGD([], 0.1), "SGD takes at most 1 argument without a name, got 2"),
])
def test_arguments_that_do_not_fit(make, error):
    with pytest.raises(TypeError, match=error):
        make()


def test_what_a_layer_was_made_with():
    layer = ag.nn.Conv2d(2, 4, 3, padding=1, activation="relu")
    assert (layer.in_channels, layer.kernel_size, layer.padding, layer.stride, layer.activation) == (2, 3, 1, 1, "relu")
    with pytest.raises(AttributeError, match="padding of a Conv2d is chosen when the layer is made"):
        layer.padding = 2
    with pytest.raises(AttributeError, match="no attribute other"):
        _ = layer.other


def test_a_bias_may_come_and_go():
    layer = ag.nn.Dense(2, 3, bias=False)
    x = ag.ones(1, 2)
    plain = layer(x)
    assert layer.bias is None and len(layer.parameters()) == 1
    layer.bias = ag.parameter(ag.ones(3))
    assert ag.array_equal(layer(x), plain + 1) and len(layer.parameters()) == 2
    layer.bias = None
    assert ag.array_equal(layer(x), plain) and [path for path, _ in layer.state()] == ["weight"]


def test_an_activation_of_ones_own():
    class Scaled(ag.nn.Module):
        def __init__(self):
            self.scale = ag.parameter(ag.full((1,), 3.0))

        def forward(self, x):
            return x * self.scale

    net = ag.nn.Sequential(ag.nn.Dense(2, 2, Scaled()))
    assert [path for path, _ in net.state()] == ["0.weight", "0.bias", "0.activation.scale"]
    other = net.clone()
    x = ag.ones(1, 2)
    assert ag.array_equal(net(x), (x @ net[0].weight + net[0].bias) * 3)
    with ag.no_grad():
        other[0].activation.scale[...] = 0
    assert not np.asarray(other(x)).any() and np.asarray(net(x)).any()
    assert ag.array_equal(ag.nn.Dense(2, 2, ag.relu, initialiser="he_normal")(-x * 0), ag.zeros(1, 2))


def test_layers_of_ones_own_class():
    class Extended(ag.nn.Dense):
        def __init__(self, size):
            self.note = None
            super().__init__(size, size)
            self.scale = ag.parameter(ag.ones(size))

        def forward(self, x):
            return super().forward(x) * self.scale

    net = ag.nn.Sequential(Extended(2))
    assert [path for path, _ in net.state()] == ["0.weight", "0.bias", "0.scale"] and "Extended" in net.summary()
    copied = net.clone()
    assert copied[0].scale._address() != net[0].scale._address() and len(copied.parameters()) == 3


def test_tied_tensors_stay_tied():
    tied = ag.nn.Embedding(4, 3)
    net = ag.nn.Sequential(tied, ag.nn.Dense(3, 4), tied)
    shared = ag.nn.Dense(2, 2)
    other = ag.nn.Dense(2, 2)
    other.weight = shared.weight  # one tensor in two layers of the library
    both = ag.nn.Sequential(shared, other)
    assert "total: 28 parameters" in net.summary() and "total: 8 parameters" in both.summary()
    for made in (both.clone(), copy.deepcopy(both), both.clone().to("float64")):
        assert made[0].weight._address() == made[1].weight._address() != both[0].weight._address()
        assert made[0].bias._address() != made[1].bias._address() and len(made.parameters()) == 3
    assert len(net.clone().parameters()) == 3


def test_a_clone_has_all_that_is_the_modules_own():
    class Net(ag.nn.Module):
        def __init__(self):
            self.norm = ag.nn.BatchNorm(2)
            self.own = self.again = ag.parameter(ag.ones(2))
            self.table = {"x": ag.zeros(2), "note": "a note"}
            self.function, self.hook, self.array, self.random = max, self.method, np.ones(2), ag.Generator(3, 4)

        def method(self):
            return self

    net = Net().eval()
    net.norm.note = "another"
    other = net.clone()
    assert [path for path, _ in other.state()] == [path for path, _ in net.state()] and other.summary() == net.summary()
    for (_, a), (_, b) in zip(net.state(), other.state()):
        assert a._address() != b._address() and ag.array_equal(a, b) and a.requires_grad == b.requires_grad
    assert other.own is other.again and not other.training and not other.norm.training and other.norm.note == "another"
    assert other.hook() is other and other.function is max and other.table["note"] == "a note"
    other.array[0], _ = 5, other.random.set(9)
    assert net.array[0] == 1 and (net.random.seed, net.random.place) == (3, 4)
    again = pickle.loads(pickle.dumps(net.random))
    assert (again.seed, again.place) == (3, 4)


def test_moving_keeps_what_needs_no_move():
    net = ag.nn.Sequential(ag.nn.Dense(2, 2))
    before = net[0].weight._address()
    assert net.to("cpu")[0].weight._address() == before and net.to("float32")[0].weight._address() == before
    moved = net.to("float64").parameters()
    assert [p.dtype for p in moved] == ["float64"] * 2 and all(p.requires_grad for p in moved)


def test_dicts_that_change_while_they_are_read(tmp_path):
    class Inner(ag.nn.Module):
        def __init__(self, table):
            object.__setattr__(self, "table", table)

        def members(self):
            self.table.clear()
            self.table.update({str(i) * 20: [object()] for i in range(100)})
            self.table.clear()
            return {}

    class Outer(ag.nn.Module):
        def __init__(self):
            table = {}
            table.update({"inner": Inner(table), **{f"x{i}": ag.ones(2) for i in range(20)}})
            object.__setattr__(self, "table", table)

        def members(self):
            return self.table

    class Key:
        def __str__(self):
            parts.clear()
            return "x"

    assert len(Outer().state()) == 20 and len(Outer().parameters()) == 0 and "x19" in Outer().summary()
    parts = {Key(): ag.ones(2), "y": ag.ones(3)}
    ag.Checkpoint(parts=parts).save(tmp_path / "file")
    assert sorted(ag.load(tmp_path / "file")) == ["parts.x", "parts.y"]


def test_layers_in_a_circle():
    outer, inner = ag.nn.Sequential(), ag.nn.Sequential()
    outer.add(inner), inner.add(outer)
    with pytest.raises(ValueError, match="nested deeper than 1000, or in a circle"):
        outer.state()


def test_initialisers():
    for make in (ag.nn.init.normal(0.5), ag.nn.init.uniform(), ag.nn.init.he_normal, "xavier_normal", lambda *_: ag.ones(3, 2)):
        assert ag.nn.Dense(3, 2, initialiser=make).weight.requires_grad
    assert ag.nn.init.zeros((2,), "float64").dtype == "float64" and ag.nn.init.constant(3)((2,)).tolist() == [3, 3]
    with pytest.raises(TypeError, match=r"\[Dense\] initialiser must be a function"):
        ag.nn.Dense(3, 2, initialiser="unknown")
    a, b = (ag.nn.init.normal()((3,), generator=ag.Generator(4)) for _ in range(2))
    assert ag.array_equal(a, b)


def test_layers_of_several_tensors():
    x, h = ag.randn(2, 4), ag.randn(2, 3)
    cell = ag.nn.LSTMCell(4, 3)
    first = cell(x)
    second = cell(x, *first)
    again = pickle.loads(pickle.dumps(cell))
    assert all(ag.array_equal(a, b) for a, b in zip(second, again(x, h=first[0], c=first[1])))
    assert ag.array_equal(cell(x, h=h)[1], cell(x, h, ag.zeros(2, 3))[1])
    block = ag.nn.TransformerDecoderBlock(4, 2, dropout=0.5).eval()
    y, memory = ag.randn(1, 3, 4), ag.randn(1, 5, 4)
    assert ag.array_equal(block(y, memory), block(y, memory=memory)) and not ag.array_equal(block.train()(y, memory), block(y, memory))
    hidden = block.eval()(y, memory, memory_mask=ag.array([True, True, False, False, False]))
    np.testing.assert_allclose(np.asarray(hidden), np.asarray(block(y, memory[:, :2])), rtol=1e-5, atol=1e-6)
    with pytest.raises(TypeError):
        block(y)


def test_a_loss_as_a_layer_keeps_its_options():
    loss = ag.nn.SoftmaxCrossEntropy(class_weight=ag.array([1.0, 2, 3]), reduction="mean")
    logits, labels = ag.randn(4, 3), ag.array([0, 1, 2, 1])
    value = loss(logits, labels=labels)
    assert ag.array_equal(value, ag.nn.softmax_cross_entropy(logits, labels, class_weight=loss.class_weight, reduction="mean"))
    for other in (copy.deepcopy(loss), pickle.loads(pickle.dumps(loss))):
        assert ag.array_equal(other(logits, labels), value) and other.reduction == "mean"
        assert other.class_weight._address() != loss.class_weight._address() and other.parameters() == []
    loss.class_weight = None
    assert not ag.array_equal(loss(logits, labels), value)
    net = ag.nn.Sequential(ag.nn.Dense(3, 3), ag.nn.ReLU(), ag.nn.PReLU(3), ag.nn.LogSoftmax())
    assert [path for path, _ in net.state()] == ["0.weight", "0.bias", "2.slope"]
    ag.nn.NLLLoss(reduction="mean")(net(logits), labels).backward()
    assert net[2].slope.grad.shape == (3,)


def test_a_network_prints_what_it_was_made_with():
    class Net(ag.nn.Module):
        def __init__(self):
            self.scale = ag.parameter(ag.ones(3))
            self.blocks = [ag.nn.Dense(2, 3, ag.gelu, bias=False), np.tanh]
            self.heads = {"first": ag.nn.Sequential(ag.nn.Dense(2, 3, ag.nn.LeakyReLU(0.5)), ag.relu)}
            self.norm, self.activation = ag.nn.LayerNorm((2, 3)), ag.softmax

    assert repr(Net()) == """Net(
  activation=softmax, scale=float32 (3,)
  (blocks): list(
    (0): Dense(in_features=2, out_features=3, activation='gelu', bias=False)
    (1): tanh
  )
  (heads): dict(
    (first): Sequential(
      (0): Dense(
        in_features=2, out_features=3
        (activation): LeakyReLU(slope=0.5)
      )
      (1): relu
    )
  )
  (norm): LayerNorm(row=(2, 3))
)"""
    assert repr(ag.nn.Sequential()) == "Sequential()" and repr(ag.nn.Lambda(ag.relu)) == "Lambda(function=relu)"
    loss = ag.nn.SoftmaxCrossEntropy(class_weight=[1.0, 2.0], ignore_index=np.int64(0)).to("float64")
    assert repr(loss) == "SoftmaxCrossEntropy(ignore_index=0, class_weight=float64 (2,))"
    loss.class_weight = None
    assert repr(loss) == "SoftmaxCrossEntropy(ignore_index=0)"
    net = ag.nn.Sequential()
    assert repr(net.add(net)) == "Sequential(\n  (0): ...\n)"


@pytest.mark.parametrize("made", [
    "Dropout(p=0.5)", "Softmax(axis=-1)", "ELU(scale=1.0)", "ReLU()", "PReLU(channels=1)", "L2Loss()", "HuberLoss(reduction='mean', delta=2.0)",
    "Conv2d(in_channels=1, out_channels=6, kernel_size=(5, 3), activation='relu', padding=2)", "MaxPool2d(kernel_size=3, stride=2)",
    "Upsample(scale=2, mode='bilinear')", "BatchNorm(channels=3, affine=False)", "RMSNorm(row=4)", "RNN(in_features=2, hidden_features=3, activation='relu')",
    "LSTMCell(in_features=2, hidden_features=3, bias=False)", "TransformerBlock(features=4, heads=2, causal=True, dropout=0.25)",
])
def test_a_layer_prints_as_the_call_that_makes_it(made):
    layer = eval(made, vars(ag.nn))
    assert repr(layer) == made and repr(pickle.loads(pickle.dumps(layer))) == made and repr(layer.clone()) == made


@pytest.mark.parametrize("kind", ag.nn.layers.NativeLayer.__subclasses__(), ids=lambda kind: kind.__name__)
def test_every_option_that_is_chosen_is_printed(kind):
    required = {name: 4 for name, _, *default in kind._parameters if not default}
    for name, _, *default in kind._parameters:
        if not default or not isinstance(default[0], (bool, int, float)):
            continue
        value = not default[0] if isinstance(default[0], bool) else default[0] + 1 if isinstance(default[0], int) else default[0] / 2 or 0.25
        try:
            layer = kind(**required, **{name: value})
        except ValueError:  # which does not go with the others
            continue
        assert f"{name}={value!r}" in repr(layer)


def test_functions_of_the_library_are_copied_and_pickled_by_name():
    assert copy.deepcopy(ag.relu) is ag.relu and pickle.loads(pickle.dumps([ag.softmax, ag.concat])) == [ag.softmax, ag.concat]
    net = ag.nn.Sequential(ag.nn.Dense(2, 3, ag.gelu), ag.relu)
    x = ag.randn(4, 2)
    for other in (net.clone(), pickle.loads(pickle.dumps(net))):
        assert ag.array_equal(other(x), net(x)) and repr(other) == repr(net)


@pytest.mark.parametrize("kind", [ag.nn.Sequential, ag.nn.Lambda, ag.nn.Residual, ag.nn.Recompute])
def test_what_cannot_be_called_is_refused_when_a_layer_is_made(kind):
    with pytest.raises(TypeError, match="a layer can be called; 3 cannot"):
        kind(3)
    net = ag.nn.Sequential()
    with pytest.raises(TypeError):
        net.add(ag.nn.ReLU(), 3)
    assert len(net) == 0


def test_a_tensor_of_a_layer_is_one_object_while_the_program_holds_it():
    net = ag.nn.Sequential(ag.nn.Dense(3, 3), ag.nn.Dense(3, 1))
    matrices = {p for p in net.parameters() if p.ndim > 1}
    assert len(matrices) == 2 and [p for p in net.parameters() if p not in matrices] == [net[0].bias, net[1].bias]
    momentum = {p: 0 for p in net.parameters()}
    assert momentum[net[0].weight] == 0 and net[0].weight is dict(net.named_parameters())["0.weight"]
    own = ag.parameter(ag.ones(3, 3))
    net[0].weight = own
    assert net[0].weight is own and net.parameters()[0] is own
    held = net[0].weight
    net.to("float64")
    assert net[0].weight is not held and net[0].weight.dtype == ag.float64


@pytest.mark.parametrize("value", [np.zeros((2, 2), "float32"), [[1.0]], 3, ag.nn.ReLU()])
def test_what_is_no_tensor_is_not_assigned_to_one_of_a_layer(value):
    layer = ag.nn.Dense(2, 2)
    with pytest.raises(TypeError, match="weight of a Dense is a tensor, .* or None, not"):
        layer.weight = value
    assert isinstance(layer.weight, ag.Tensor)


def test_attributes_of_a_sequential_of_ones_own_are_members():
    class Net(ag.nn.Sequential):
        def __init__(self):
            super().__init__(ag.nn.Dense(2, 2))
            self.head = ag.nn.Dense(2, 1)

        def forward(self, x):
            return self.head(super().forward(x))

    net = Net()
    assert [path for path, _ in net.state()] == ["0.weight", "0.bias", "head.weight", "head.bias"]
    net.eval()
    assert not net.head.training and len(net.parameters()) == 4 and net(ag.ones(3, 2)).shape == (3, 1)


def test_a_move_keeps_lists_and_named_tuples():
    Pair = collections.namedtuple("Pair", "w b")

    class Net(ag.nn.Module):
        def __init__(self):
            self.pair = Pair(ag.parameter(ag.ones(2)), ag.parameter(ag.ones(2)))
            self.list = self.alias = [ag.parameter(ag.ones(2))]

    net = Net()
    held = net.list
    net.to("float64")
    assert net.pair.w.dtype == ag.float64 and net.list is held and net.alias is held and held[0].dtype == ag.float64


def test_frozen_parameters_can_be_thawed():
    net = ag.nn.Sequential(ag.nn.Dense(2, 3), ag.nn.BatchNorm(3))
    for parameter in net.parameters():
        parameter.requires_grad_(False)
    assert not net(ag.ones(4, 2)).requires_grad
    for each in (net, net.clone(), net.to("float64")):
        assert len(each.parameters()) == len(each.named_parameters()) == 4
        for parameter in each.parameters():
            parameter.requires_grad_()
        assert each[0](ag.ones(4, 2, dtype=each[0].weight.dtype)).requires_grad
