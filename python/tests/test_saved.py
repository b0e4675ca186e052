"""The files of version 0.1.0 load: saved/make.py wrote them with that version."""
import pathlib
import pickle
import shutil

import numpy as np
import pytest

import asyncgrad as ag

SAVED = pathlib.Path(__file__).parent / "saved"
LAYERS = pickle.loads((SAVED / "layers.pickle").read_bytes())


@pytest.mark.parametrize("name", LAYERS)
def test_pickles_of_layers(name):
    pickled, x, y = LAYERS[name]
    layer = pickle.loads(pickled)
    now = np.asarray(layer(ag.array(x)))
    np.testing.assert_allclose(now, y, rtol=1e-6, atol=1e-8)  # the kernels of another version may round otherwise
    assert not layer.training
    again = pickle.loads(pickle.dumps(layer))
    assert np.asarray(again(ag.array(x))).tobytes() == now.tobytes()


def test_a_pickle_of_a_layer_takes_no_random_numbers():
    ag.manual_seed(5)
    expected = ag.randn(3).tolist()
    ag.manual_seed(5)
    pickle.loads(LAYERS["Dense"][0])
    assert ag.randn(3).tolist() == expected


def test_a_checkpoint(tmp_path):
    net = ag.nn.Sequential(ag.nn.Dense(3, 4, "relu"), ag.nn.TransformerBlock(4, 2), ag.nn.Dense(4, 1))
    adam = ag.optim.Adam(net.parameters(), lr=0.25)
    schedule = ag.optim.Schedule(adam, ag.optim.warm_up(4, ag.optim.cosine(10)))
    batches = ag.data.Batches(np.arange(12.0).reshape(4, 3), batch_size=2)
    progress = {"step": 0, "name": "", 7: {"best": 0.0}}
    path = tmp_path / "training.checkpoint"
    shutil.copy(SAVED / "training.checkpoint", path)
    checkpoint = ag.Checkpoint(net=net, adam=adam, schedule=schedule, batches=batches, random=ag.default_generator(),
                               progress=progress)
    for _ in range(2):  # the second time it is a file of now
        checkpoint.load(path)
        assert schedule.count == 4 and (batches.epoch, batches.batch) == (2, 0) and adam.lr == 0.5
        assert schedule.get_state() == {"count": 4, "first_rates.0": 0.5}
        assert progress == {"step": 4, "name": "first", 7: {"best": 0.5}}
        stored = ag.load(SAVED / "net.safetensors")
        assert all(np.asarray(tensor).tobytes() == np.asarray(stored[name]).tobytes() for name, tensor in net.state())
        path = tmp_path / "again"
        checkpoint.save(path)
        progress.update(step=1, name="c")
        schedule.step()
    schedule.step()
    schedule.step()
    assert schedule.count > 4 and adam.lr < 0.5


def test_a_checkpoint_refuses_what_it_could_not_change():
    for value in (3, 2.5, "name", True):
        with pytest.raises(TypeError, match="a dict keeps it: progress = {'epoch': "):
            ag.Checkpoint(epoch=value)


def test_square_matrices_are_not_forgotten_where_others_are_transposed(tmp_path):
    path = str(tmp_path / "net.safetensors")
    weights = {"0.weight": ag.randn(8, 4), "1.weight": ag.randn(8, 8), "0.bias": ag.zeros(8), "1.bias": ag.zeros(8)}
    ag.save(path, weights)
    net = ag.nn.Sequential(ag.nn.Dense(4, 8), ag.nn.Dense(8, 8))
    turned = [("0.weight", "0.weight", True)]
    with pytest.raises(ValueError, match=r'"1.weight" \(8, 8\) fits both ways, while other matrices are transposed'):
        ag.load(path, net, rename=turned)
    ag.load(path, net, rename=[*turned, ("1.weight", "1.weight", True)])
    assert (net[1].weight == weights["1.weight"].T).all()
    ag.load(path, net, rename=[*turned, ("1.weight", "1.weight")])
    assert (net[1].weight == weights["1.weight"]).all()


def test_states_of_objects():
    adam = ag.optim.Adam([ag.parameter(ag.ones(1))], lr=0.5)
    schedule = ag.optim.Schedule(adam, ag.optim.steps(1, 0.5))
    schedule.set_state({"count": 2, "first": 1.0})
    schedule.step()
    assert schedule.count == 3 and adam.lr == 0.125
    batches = ag.data.Batches(np.arange(4), batch_size=2)
    batches.set_state({"epoch": 3})
    assert batches.get_state() == {"epoch": 3, "batch": 0}


def test_a_state_that_is_refused_changes_nothing():
    adam = ag.optim.Adam([ag.parameter(ag.ones(1))], lr=0.5)
    schedule = ag.optim.Schedule(adam, ag.optim.steps(1, 0.5))
    batches = ag.data.Batches(np.arange(4), batch_size=2)
    for target, state, kind, text in (
            (schedule, {"count": 2, "first_rates.0": float("nan")}, ValueError, "first_rates.0 must be finite and not negative, got nan"),
            (schedule, {"count": -2, "first_rates.0": 1.0}, ValueError, "count must be finite and not negative, got -2"),
            (schedule, {"count": 2}, KeyError, "first_rates.0"),
            (batches, {"epoch": 1, "batch": "2"}, TypeError, "batch cannot be '2'"),
            (batches, {"epoch": 1, "batch": -1}, ValueError, "batch must be finite and not negative, got -1")):
        before = target.get_state()
        with pytest.raises(kind, match=text):
            target.set_state(state)
        assert target.get_state() == before


def test_a_checkpoint_with_a_bad_count_changes_nothing(tmp_path):
    class Counted:  # takes every state
        state = {"step": 0}

        def get_state(self):
            return self.state

        def set_state(self, state):
            self.state = state

    path = tmp_path / "checkpoint"
    x = ag.zeros(2)
    parts = ag.dist.Parts(ag.dist.World(), 2)
    ag.Checkpoint(x=ag.ones(2), parts=Counted()).save(path)
    with pytest.raises(ValueError, match='"parts.count" is missing'):
        ag.Checkpoint(x=x, parts=parts).load(path)
    counted = Counted()
    counted.state = {**parts.get_state(), "step": -3}
    ag.Checkpoint(x=ag.ones(2), parts=counted).save(path)
    with pytest.raises(ValueError, match='"parts.step" is "integer -3" in the file, and must be finite and not negative'):
        ag.Checkpoint(x=x, parts=parts).load(path)
    assert x.tolist() == [0, 0] and parts.get_state()["step"] == 0
    counted.state["step"] = 3
    ag.Checkpoint(x=ag.ones(2), parts=counted).save(path)
    ag.Checkpoint(x=x, parts=parts).load(path)
    assert x.tolist() == [1, 1] and parts.get_state()["step"] == 3


def test_an_object_without_set_state_is_no_part_of_a_checkpoint(tmp_path):
    class Half:
        def get_state(self):
            return {"a": 1}

    with pytest.raises(TypeError, match="a checkpoint cannot keep half, which is"):
        ag.Checkpoint(half=Half()).save(tmp_path / "checkpoint")
