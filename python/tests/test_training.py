"""Layers, optimisers, files."""
import json

import numpy as np
import pytest
import safetensors.numpy

import asyncgrad as ag


def small():
    return ag.nn.Sequential(ag.nn.Dense(4, 8, "relu"), ag.nn.Dense(8, 1))


def trained(optimizer, steps=200):
    net = small()
    step = optimizer(net.parameters())
    x = ag.randn(64, 4)
    y = x.sum(1, keepdims=True)
    for _ in range(steps):
        step.zero_grad()
        loss = ag.nn.l2_loss(net(x), y).mean()
        loss.backward()
        step.step()
    return loss.item()


@pytest.mark.parametrize("optimizer", [
    lambda p: ag.optim.SGD(p, lr=0.05), lambda p: ag.optim.SGD(p, lr=0.02, momentum=0.9, nesterov=True),
    lambda p: ag.optim.Adam(p, lr=0.02), lambda p: ag.optim.AdamW(p, lr=0.02), lambda p: ag.optim.Adagrad(p, lr=0.1),
    lambda p: ag.optim.RMSprop(p, lr=0.01)])
def test_optimisers(optimizer):
    assert trained(optimizer) < 0.1


def test_members():
    class Block(ag.nn.Module):
        def __init__(self):
            self.layers = [ag.nn.Dense(2, 2), ag.nn.Dense(2, 2, bias=False)]
            self.scale = ag.parameter(ag.ones(1))
            self.mean = ag.zeros(2)
            self.named = {"head": ag.nn.Dense(2, 1)}

        def forward(self, x):
            return self.named["head"](self.layers[1](self.layers[0](x)) * self.scale + self.mean)

    block = Block()
    assert [path for path, _ in block.state()] == ["layers.0.weight", "layers.0.bias", "layers.1.weight", "scale", "mean",
                                                   "named.head.weight", "named.head.bias"]
    assert len(block.parameters()) == 6 and block(ag.ones(3, 2)).shape == (3, 1)
    assert block.eval().layers[0].training is False and block.train().training
    assert "11" not in repr(block) and "head" in block.summary()
    shared = ag.nn.Sequential(block.layers[0], block.layers[0])
    assert len(shared.parameters()) == 2 and len(shared.state()) == 4


def test_files(tmp_path):
    net, other = small(), small()
    ag.save(tmp_path / "net.safetensors", net)
    ag.load(tmp_path / "net.safetensors", other)
    x = ag.randn(3, 4)
    assert ag.array_equal(net(x), other(x))
    read = safetensors.numpy.load_file(tmp_path / "net.safetensors")
    assert sorted(read) == ["0.bias", "0.weight", "1.bias", "1.weight"]
    np.testing.assert_array_equal(read["0.weight"], np.asarray(net[0].weight))
    tensors = ag.load(tmp_path / "net.safetensors")
    assert ag.array_equal(tensors["1.weight"], net[1].weight)
    with pytest.raises(ValueError, match="0.weight"):
        ag.load(tmp_path / "net.safetensors", ag.nn.Sequential(ag.nn.Dense(5, 8)))
    with pytest.raises(ValueError):
        ag.load(tmp_path / "none.safetensors", net)


def written(path, header, values=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + values)
    return path


def entry(begin, end, dtype="F32", shape=(2,)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


@pytest.mark.parametrize("header", [
    {"a": entry(0, -1)}, {"a": entry(0, 4)}, {"a": entry(0, 1 << 62)}, {"a": entry(8, 16)}, {"a": entry(0, 8, "F99")},
    {"a": entry(0, 8), "b": entry(0, 8)}, {"a": entry(0, 8)}, {"a": entry(0, 16, shape=(-4,))}, {"a": {"dtype": "F32"}},
    {"a": entry(0, 16, shape=(1, 1, 1, 1, 1, 1, 4))}, {"a": entry(0, 16, shape="4")}, {"a": 1}, [], b"{", b"",
    b'{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}',
])
def test_damaged_files_are_refused(tmp_path, header):
    with pytest.raises(ValueError):
        ag.load(written(tmp_path / "bad", header, bytes(16)))
    assert ag.load(written(tmp_path / "good", {"a": entry(0, 16, shape=(2, 2))}, bytes(16)))["a"].shape == (2, 2)


@pytest.mark.parametrize("layer", [[ag.ones(2)], (ag.ones(2),), ag.ones(2), None, 3, "net", np.ones(2), {"a", "b"}])
def test_what_no_file_keeps_is_refused(tmp_path, layer):
    ag.save(tmp_path / "kept", {"x": ag.ones(2)})
    with pytest.raises(TypeError, match="a file keeps a layer, or a dict of tensors by name, not"):
        ag.save(tmp_path / "kept", layer)
    if layer is not None:
        with pytest.raises(TypeError, match="a file keeps a layer, or a dict of tensors by name, not"):
            ag.load(tmp_path / "kept", layer)
    with pytest.raises(UnicodeEncodeError):
        ag.save(tmp_path / "kept", {"\ud800": ag.ones(2)})
    with pytest.raises(TypeError, match="os.PathLike object, not NoneType"):
        ag.save(None, {"x": ag.ones(2)})
    assert list(ag.load(tmp_path / "kept")) == ["x"]


def test_files_of_other_programs(tmp_path):
    with pytest.raises(ValueError):
        path = tmp_path / "short"
        path.write_bytes(b"1234")
        ag.load(path)
    for load in (ag.load, lambda path: ag.load(path, ag.nn.Dense(2, 1)), ag.Checkpoint(t=ag.ones(2)).load):
        with pytest.raises(FileNotFoundError, match="none"):
            load(tmp_path / "none")
    with pytest.raises(TypeError, match="F8_E4M3.*eighth"):
        ag.load(written(tmp_path / "eighth", {"eighth": entry(0, 2, "F8_E4M3")}, bytes(2)))
    half = ag.load(written(tmp_path / "half", {"half": entry(0, 4, "F16")}, bytes([0, 0x3E, 1, 0x80])))["half"]
    assert half.dtype == "float32" and half.tolist() == [1.5, -2.0**-24]
    header = {"__metadata__": {"format": "pt"}, "flags": entry(0, 3, "BOOL", (3,)), "é": entry(3, 3, "I64", (0, 3)),
              "half": entry(3, 5, "BF16", ())}
    found = ag.load(written(tmp_path / "other", header, bytes([0, 1, 2, 0xC0, 0x3F])))
    assert list(found) == ["flags", "é", "half"]
    assert found["flags"].tolist() == [False, True, True] and ag.any(found["flags"][2:]).item() is True
    assert (found["é"].dtype, found["é"].shape) == ("int64", (0, 3))
    assert (found["half"].dtype, found["half"].item()) == ("bfloat16", 1.5)


def test_a_checkpoint_keeps_texts_and_keys_of_dicts(tmp_path):
    progress = {1: 0.5, "inner": {2: "a\0b"}, "none": {}}
    checkpoint = ag.Checkpoint(progress=progress)
    checkpoint.save(tmp_path / "file")
    progress[1], progress["inner"][2] = 0.25, "c"
    checkpoint.load(tmp_path / "file")
    assert progress == {1: 0.5, "inner": {2: "a\0b"}, "none": {}}


def test_a_checkpoint_goes_on_with_the_same_bits(tmp_path):
    def parts():
        net = small()
        adam = ag.optim.Adam(net.parameters(), lr=0.01)
        schedule = ag.optim.Schedule(adam, ag.optim.warm_up(3, ag.optim.cosine(20)))
        progress = {"epoch": 0, "name": "a", "best": 0.5, "done": False}
        checkpoint = ag.Checkpoint(net=net, adam=adam, schedule=schedule, random=ag.default_generator(), progress=progress)
        return net, adam, schedule, progress, checkpoint

    def train(net, adam, schedule, steps):
        for _ in range(steps):
            adam.zero_grad()
            ag.nn.l2_loss(net(ag.randn(8, 4)), ag.randn(8, 1)).mean().backward()
            adam.step()
            schedule.step()

    net, adam, schedule, progress, checkpoint = parts()
    train(net, adam, schedule, 5)
    progress.update(epoch=5, name="b", best=0.25, done=True)
    checkpoint.save(tmp_path / "c")
    train(net, adam, schedule, 5)
    ag.manual_seed(99)
    net2, adam2, schedule2, progress2, checkpoint2 = parts()
    checkpoint2.load(tmp_path / "c")
    assert progress2 == {"epoch": 5, "name": "b", "best": 0.25, "done": True}
    train(net2, adam2, schedule2, 5)
    for a, b in zip(net.parameters(), net2.parameters()):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


def test_clipping_and_groups():
    w = ag.array([3.0, 4.0]).requires_grad_()
    (w * w).sum().backward()
    assert ag.optim.clip_norm([w], 1.0).item() == pytest.approx(10)
    assert np.linalg.norm(np.asarray(w.grad)) == pytest.approx(1, rel=1e-5)
    b = ag.ones(1).requires_grad_()
    sgd = ag.optim.SGD([w], lr=0.5)
    sgd.add_group([b], lr=0.25)
    assert sgd.groups == 2 and sgd.lr == 0.5
    sgd.lr = 0.125
    assert sgd.lr == 0.125 and "(1)" in sgd.missing((b * w).sum() * ag.ones(1).requires_grad_())[0]


def test_moving_a_layer():
    net = small().to("float64")
    assert net[0].weight.dtype == ag.float64 and net[0].weight.requires_grad
    assert net.clone()[0].weight._address() != net[0].weight._address()


def test_a_schedule_keeps_the_rates_of_groups(tmp_path):
    def parts():
        sgd = ag.optim.SGD([ag.parameter(ag.ones(1))], lr=0.1)
        sgd.add_group([ag.parameter(ag.ones(1))], lr=0.01)
        return sgd, ag.optim.Schedule(sgd, ag.optim.steps(2, 0.5))

    sgd, schedule = parts()
    for _ in range(4):
        schedule.step()
    assert [sgd.get_lr(i) for i in range(2)] == [0.1 * 0.25, 0.01 * 0.25]
    ag.Checkpoint(sgd=sgd, schedule=schedule).save(tmp_path / "c")
    other, going_on = parts()
    ag.Checkpoint(sgd=other, schedule=going_on).load(tmp_path / "c")
    going_on.step()
    going_on.step()
    assert going_on.count == 6 and [other.get_lr(i) for i in range(2)] == [0.1 * 0.125, 0.01 * 0.125]
    assert going_on.get_state() == {"count": 6, "first_rates.0": 0.1, "first_rates.1": 0.01}


def test_a_schedule_of_a_function():
    sgd = ag.optim.SGD([ag.parameter(ag.ones(1))], lr=1.0)
    schedule = ag.optim.Schedule(sgd, lambda t: "no" if t == 2 else 0.5 ** t)
    schedule.step()
    assert sgd.lr == 0.5
    with pytest.raises(TypeError, match="the factor must be a number, got 'no'"):
        schedule.step()
    assert schedule.count == 1
    with pytest.raises(TypeError, match="factor must be a function"):
        ag.optim.Schedule(sgd, 0.5)


def test_a_dict_in_a_circle_is_refused(tmp_path):
    circle = {}
    circle["circle"] = circle
    with pytest.raises(ValueError, match="nested deeper than 1000, or in a circle"):
        ag.Checkpoint(x=circle).save(tmp_path / "file")


def test_a_checkpoint_keeps_tensors_of_a_state(tmp_path):
    class Statistics:
        def __init__(self):
            self.count, self.mean = 0, ag.zeros(2)

        def get_state(self):
            return {"count": self.count, "mean": self.mean.clone()}

        def set_state(self, state):
            self.count, self.mean = state["count"], state["mean"]

    kept, table = Statistics(), {"total": ag.ones(2), "steps": 3}
    kept.count, kept.mean = 5, ag.array([1.0, 2.0])
    ag.Checkpoint(statistics=kept, table=table).save(tmp_path / "file")
    read, total = Statistics(), ag.zeros(2)
    other = {"total": total, "steps": 0}
    ag.Checkpoint(statistics=read, table=other).load(tmp_path / "file")
    assert read.count == 5 and read.mean.tolist() == [1, 2]
    assert other["total"] is total and total.tolist() == [1, 1] and other["steps"] == 3


class Counting(ag.nn.Module):
    def __init__(self):
        self.dense, self.calls = ag.nn.Dense(2, 2), 0

    def forward(self, x):
        self.calls += 1
        return self.dense(x)

    def get_state(self):
        return {"calls": self.calls}

    def set_state(self, state):
        self.calls = state["calls"]


def test_a_checkpoint_keeps_tensors_and_state_of_layers(tmp_path):
    def make():
        shared = Counting()
        return Counting(), ag.nn.Sequential(Counting(), ag.nn.Sequential(shared), shared)

    one, net = make()
    one(ag.ones(1, 2))
    net(net(ag.ones(1, 2)))
    ag.Checkpoint(one=one, net=net).save(tmp_path / "file")
    one_read, net_read = make()
    ag.Checkpoint(one=one_read, net=net_read).load(tmp_path / "file")
    assert one_read.calls == 1 and [net_read[0].calls, net_read[2].calls] == [2, 4]
    for kept, read in ((one, one_read), (net, net_read)):
        assert all(ag.array_equal(x, y) for (_, x), (_, y) in zip(kept.state(), read.state(), strict=True))


def test_reading_a_file_without_a_layer_takes_no_names(tmp_path):
    ag.save(tmp_path / "file", {"w": ag.ones(2)})
    for options in ({"rename": [("w", "v")]}, {"strict": False}):
        with pytest.raises(TypeError, match="strict and rename are for the tensors of a layer or a dict"):
            ag.load(tmp_path / "file", **options)
    assert list(ag.load(tmp_path / "file")) == ["w"]
