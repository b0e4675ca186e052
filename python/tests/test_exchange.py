"""Models and trainings that a C++ program has saved load here, and the other way round, with the same bits.

The program is built beside the extension; a wheel has none, and these tests are skipped.
"""
import pathlib
import subprocess

import numpy as np
import pytest

import asyncgrad as ag

PROGRAM = pathlib.Path(ag.__file__).parents[1] / "exchange"

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason=f"there is no {PROGRAM}: the package was not built here")


def network():
    return ag.nn.Sequential(
        ag.nn.Conv2d(3, 4, 3, "relu", padding=1), ag.nn.BatchNorm(4), ag.nn.MaxPool2d(2),
        ag.nn.Lambda(lambda x: x.reshape(2, 8, 8)), ag.nn.TransformerBlock(8, 2, hidden_features=16), ag.nn.GRU(8, 6),
        ag.nn.LayerNorm(6), ag.nn.Residual(ag.nn.Dense(6, 6, "tanh")), ag.nn.Dense(6, 3))


def computed(net):
    x = ag.arange(2 * 3 * 8 * 8, dtype="float32").reshape(2, 3, 8, 8) / 100
    with ag.evaluation(), ag.no_grad():
        return np.array(net(x))


def run(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr or "other values"


def test_a_model_of_cpp_loads_in_python(tmp_path):
    file = tmp_path / "net.safetensors"
    run("layers", file)
    expected = np.asarray(ag.load(f"{file}.y")["y"])
    net = ag.load(file, network())
    assert computed(net).tobytes() == expected.tobytes()
    assert computed(network()).tobytes() != expected.tobytes()


def test_a_model_of_python_loads_in_cpp(tmp_path):
    file = tmp_path / "net.safetensors"
    net = network()
    net(ag.randn(2, 3, 8, 8))  # for the running statistics
    ag.save(file, net)
    ag.save(f"{file}.y", {"y": ag.array(computed(net))})
    run("check", file)
    ag.save(file, network())
    assert subprocess.run([PROGRAM, "check", file], timeout=120).returncode == 1


def test_a_training_of_cpp_goes_on_in_python(tmp_path):
    file = tmp_path / "training"
    run("training", file)
    net = ag.nn.Sequential(ag.nn.Dense(4, 8, "relu"), ag.nn.Dense(8, 1))
    adam = ag.optim.Adam(net.parameters(), lr=0.01)
    ag.Checkpoint(net=net, adam=adam, random=ag.default_generator()).load(file)
    for _ in range(3):
        x, y = ag.randn(8, 4), ag.randn(8, 1)
        adam.zero_grad()
        ag.nn.l2_loss(net(x), y).mean().backward()
        adam.step()
    end = ag.load(f"{file}.end")
    assert len(end) == 4
    for name, tensor in net.state():
        assert np.asarray(tensor).tobytes() == np.asarray(end[name]).tobytes()
