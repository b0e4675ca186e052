"""MXNet's names: what blocks, parameters, trainers and metrics keep between calls, also on several devices."""
import copy

import pytest

import asyncgrad as ag
from asyncgrad import mxnet
from asyncgrad.mxnet import autograd, cpu, gluon, gpu, init, lr_scheduler, metric, np, npx
from asyncgrad.mxnet.gluon import nn, rnn
from test_mxnet import same


@pytest.fixture
def gpus():
    mxnet.cpu_as_gpus(2)
    yield [gpu(0), gpu(1)]
    ag.set_engine_options(cpu_parts=1)


def parameter(ctx=None, value=0.0, **options):
    p = gluon.Parameter("w", shape=(2,), **options)
    p.initialize(init.Constant(value), ctx=ctx)
    return p


def test_the_cpu_is_one_device():
    p = parameter(cpu(1), 1)
    same(p.data(cpu(0)), [1, 1])
    for ctx in [cpu(0), cpu(1)], [gpu(0), gpu(0)]:
        with pytest.raises(ValueError, match=r"name one device twice; cpu_as_gpus\(n\)"):
            parameter(ctx)
        with pytest.raises(ValueError, match="name one device twice"):
            p.reset_ctx(ctx)


def lose(p, on, factor):
    with autograd.record():
        loss = (p.data(on) * factor).sum()
    loss.backward()


def test_gradients_are_the_sums_of_all_devices_after_allreduce(gpus):
    p = parameter(gpus)
    trainer = gluon.Trainer([p], "sgd", {"learning_rate": 1}, update_on_kvstore=False)
    for on, factor in zip(gpus, (1, 2)):
        lose(p, on, factor)
    trainer.allreduce_grads()
    for on in gpus:
        same(p.grad(on), [3, 3])
        p.grad(on)[:] = p.grad(on) / 3  # as clipping does
    trainer.update(1)
    for on in gpus:
        same(p.data(on), [-1, -1])
        lose(p, on, 1)
    trainer.step(1)
    same(p.data(gpus[1]), [-3, -3])


def test_an_empty_prefix_opens_no_scope():
    class Net(nn.HybridSequential):
        def __init__(self):
            super().__init__(prefix="net_")
            with self.name_scope():
                self.features = nn.HybridSequential(prefix="")
                with self.features.name_scope():
                    self.features.add(nn.Dense(3, in_units=2), nn.Dense(3, in_units=3))
                self.output = nn.Dense(1, in_units=3)

        def forward(self, x):
            return self.output(self.features(x))

    net = Net()
    assert [net.features[0].name, net.features[1].name, net.output.name] == ["net_dense0", "net_dense1", "net_dense2"]
    net.initialize()
    assert len(net.collect_params()) == 6 and net(np.ones((1, 2))).shape == (1, 1)
    twice = gluon.ParameterDict()
    twice.get("w", shape=(1,))
    other = gluon.ParameterDict()
    other.get("w", shape=(1,))
    with pytest.raises(AssertionError, match="different Parameters with the same name 'w'"):
        twice.update(other)


def test_what_is_not_differentiable_gets_no_gradient():
    net = nn.BatchNorm(scale=False, in_channels=2)
    constant = gluon.Constant("c", np.ones(2))
    params = net.collect_params()
    params._params["c"] = constant
    params.initialize()
    params.setattr("grad_req", "add")
    assert [p.grad_req for p in (net.gamma, net.beta, net.running_mean, net.running_var, constant)] == \
        ["null", "add", "null", "null", "null"]
    constant.data()[:] = 5
    same(constant.value, [1, 1])


def test_a_change_to_the_same_grad_req_keeps_the_gradient():
    p = parameter()
    lose(p, None, 2)
    p.grad_req = "write"
    same(p.grad(), [2, 2])


def test_a_shallow_copy_of_an_array_has_values_of_its_own():
    x = np.ones(2)
    x.attach_grad()
    kept = copy.copy(x)
    x[:] = 5
    same(kept, [1, 1])
    assert type(kept) is np.ndarray


def test_heads_on_several_devices(gpus):
    p = parameter(gpus)
    with autograd.record():
        losses = [(p.data(on) * factor).sum() for on, factor in zip(gpus, (1, 2))]
    autograd.backward(losses)
    same(p.grad(gpus[0]), [1, 1])
    same(p.grad(gpus[1]), [2, 2])


def test_a_gradient_that_is_given_gets_no_gradient():
    x, v = np.ones(2), np.array([2, 3])
    x.attach_grad()
    v.attach_grad()
    with autograd.record():
        y = x * 5
    y.backward(v)
    same(x.grad, [10, 15])
    same(v.grad, [0, 0])


def test_metrics_take_labels_from_another_device(gpus):
    pred, label = np.array([[0.9, 0.1], [0.2, 0.8]], ctx=gpus[0]), np.array([0, 0])
    for kind, value in (metric.Accuracy(), 0.5), (metric.CrossEntropy(), 0.857399), (metric.MSE(), 0.325):
        kind.update(label, pred[:, 1] if kind.name == "mse" else pred)
        assert kind.get()[1] == pytest.approx(value, rel=1e-4)


def test_files_have_the_means_of_all_devices(gpus, tmp_path):
    net = nn.BatchNorm(in_channels=2)
    net.initialize(ctx=gpus)
    for on, value in zip(gpus, (1, 3)):
        net.running_mean.data(on)[:] = value
    net.save_parameters(tmp_path / "f")
    other = nn.BatchNorm(in_channels=2)
    other.load_parameters(tmp_path / "f", ctx=cpu())
    same(other.running_mean.data(), [2, 2])
    net.running_mean.reset_ctx(cpu())
    same(net.running_mean.data(), [2, 2])


@pytest.mark.parametrize("rule, options, rate", [
    ("sgd", {}, 0.3), ("adagrad", {}, 0.3), ("adam", {}, 0.001), ("rmsprop", {}, 0.001), ("adam", {"learning_rate": 0.2}, 0.2)])
def test_the_rate_of_a_schedule(rule, options, rate):
    scheduler = lr_scheduler.FactorScheduler(1000, 0.9, base_lr=0.3)
    assert gluon.Trainer([], rule, {"lr_scheduler": scheduler, **options}).learning_rate == rate


def test_a_loader_reads_arrays_as_they_are_when_it_reads(gpus):
    x, labels = np.arange(8).reshape(4, 2), np.array([0, 1, 2, 3])
    data = gluon.data.ArrayDataset(x, labels)
    x *= 2
    labels[:] = 9
    (batch, of_labels), = gluon.data.DataLoader(data, 4)
    same(batch, [[0, 2], [4, 6], [8, 10], [12, 14]])
    same(of_labels, [0, 1, 2, 3])  # arrays with one axis are copied, as in MXNet
    there = np.ones((4, 2), ctx=gpus[1])
    batch, = gluon.data.DataLoader(gluon.data.ArrayDataset(there), 4)
    assert batch.ctx == gpus[1]


def test_a_metric_of_the_program():
    class Errors(metric.EvalMetric):
        def __init__(self):
            super().__init__("errors", output_names=["out"], has_global_stats=True)

        def update(self, labels, preds):
            for label, pred in zip(labels, preds):
                self.sum_metric += (label != pred).sum()
                self.num_inst += label.size

    errors = Errors()
    errors.update([np.array([1, 2])], [np.array([1, 3])])
    assert errors.get() == ("errors", 0.5)
    errors.update_dict({"l": np.array([1])}, {"out": np.array([3]), "more": None})
    assert errors.get() == ("errors", 2 / 3)
    errors.reset_local()
    assert str(errors.get()[1]) == "nan"
    with pytest.raises(NotImplementedError):
        metric.Accuracy(has_global_stats=True)
    with pytest.raises(NotImplementedError, match="update"):
        metric.EvalMetric("m").update([], [])


def test_recurrent_layers_take_names():
    layer = rnn.LSTM(3, use_sequence_length=True, input_size=2)
    layer.initialize()
    x, lengths = np.ones((4, 2, 2)), np.array([1, 4])
    same(layer(x, sequence_length=lengths), layer(x, None, lengths))
    states = layer.begin_state(2, dtype="float64")
    assert states[0].dtype == "float64"
    y, after = layer(x, states=layer.begin_state(2), sequence_length=lengths)
    assert y.shape == (4, 2, 3) and len(after) == 2


def test_running_statistics_stay_where_nothing_is_recorded():
    net = nn.BatchNorm(in_channels=1)
    net.initialize()
    with autograd.train_mode():
        net(np.array([[1.0], [3.0]]))
    same(net.running_mean.data(), [0])
    with autograd.record():
        net(np.array([[1.0], [3.0]]))
    same(net.running_mean.data(), [0.2])


def test_labels_outside_are_clipped_as_pick_does():
    pred = np.array([[1.0, 2.0], [3.0, 0.0]])
    same(gluon.loss.SoftmaxCrossEntropyLoss()(pred, np.array([-1, 7])),
         gluon.loss.SoftmaxCrossEntropyLoss()(pred, np.array([0, 1])))


def test_files_of_other_types_and_names(tmp_path, gpus):
    net = nn.Sequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(2, in_units=2))
    net.initialize()
    net.cast("float64")
    net.save_parameters(tmp_path / "double")
    net.collect_params().save(tmp_path / "flat", "net_")
    other = nn.Sequential(prefix="other_")
    with other.name_scope():
        other.add(nn.Dense(2, in_units=2))
    other.initialize()
    with pytest.raises(AssertionError, match="dtype incompatible expected float32 vs saved float64"):
        other.load_parameters(tmp_path / "double")
    with pytest.raises(AssertionError, match=r"on \[gpu\(0\)\] because it was previously initialized on \[cpu\(0\)\]"):
        other.load_parameters(tmp_path / "double", ctx=gpu(0), cast_dtype=True)
    with pytest.raises(TypeError):
        other.load_parameters(tmp_path / "double", alow_missing=True)
    other.load_parameters(tmp_path / "double", cast_dtype=True)
    assert other[0].weight.data().dtype == "float32"
    same(other[0].weight.data(), net[0].weight.data().astype("float32"))
    other.load_parameters(tmp_path / "double", cast_dtype=True, dtype_source="saved")
    assert other[0].weight.data().dtype == "float64"
    other[0].weight.set_data(np.zeros((2, 2)))
    other.load_parameters(tmp_path / "flat")
    same(other[0].weight.data(), net[0].weight.data())
    npx.waitall()


def test_a_step_leaves_the_gradients_of_the_devices(gpus):
    p = parameter(gpus)
    trainer = gluon.Trainer([p], "sgd", {"learning_rate": 1})
    for on, factor in zip(gpus, (1, 2)):
        lose(p, on, factor)
    trainer.step(1)
    for on, factor in zip(gpus, (1, 2)):
        same(p.data(on), [-3, -3])
        same(p.grad(on), [factor, factor])
