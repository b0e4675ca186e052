"""asyncgrad.dist: alone, and on several processes where an mpiexec is found that the extension was built for."""
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

import asyncgrad as ag

TRAINING = """
import os, numpy as np, asyncgrad as ag
world = ag.dist.world(timeout_s=20)
ag.manual_seed(world.rank)
net = ag.nn.Sequential(ag.nn.Dense(4, 8, ag.relu), ag.nn.Dense(8, 1))
adam = ag.optim.Adam(net.parameters(), lr=0.01)
ag.dist.broadcast(net, world)
ag.dist.broadcast(adam, world)
rows = np.arange(96, dtype=np.float32).reshape(24, 4) / 96
for epoch in range(3):
    for x, in ag.data.Batches((rows,), 8, share=world.share):
        assert x.shape[0] == 8 // world.size
        (net(x) ** 2).mean().backward()
        ag.dist.average_gradients(adam, world)
        adam.step()
        adam.zero_grad()
total = ag.dist.sum(ag.ones(2), world).tolist()  # waits
figures = world.figures
assert (figures.moves > 0) == (world.size > 1) and 0 <= figures.exposed_s <= figures.moving_s
assert (figures.received_bytes > 0) == (world.size > 1) and 0 <= figures.hidden_share <= 1
weight = net.parameters()[0].numpy().tobytes().hex()
os.write(1, f"result {world.size} {total} {weight}\\n".encode())  # whole lines, which do not mix
"""


GLUON = """
import os
from asyncgrad import dist, mxnet as mx
from asyncgrad.mxnet import autograd, gluon, np
world = dist.world(timeout_s=20)
net = gluon.nn.Dense(1, in_units=2, use_bias=False)
net.initialize(mx.init.Constant(1 + world.rank))  # that of process 0 counts
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5}, kvstore="dist_sync")
for step in range(2):
    with autograd.record():
        y = net(np.array([[1.0, 2.0 + world.rank]])).sum()
    y.backward()
    trainer.step(world.size)
os.write(1, f"result {world.size} {net.weight.data().tolist()}\\n".encode())
"""


def launchers():
    found = [shutil.which("mpiexec.mpich"), shutil.which("mpiexec.openmpi")]
    deps = pathlib.Path(__file__).resolve().parents[2] / ".deps" / "mpi"
    found += [str(deps / family / "bin" / "mpiexec") for family in ("mpich", "openmpi")]
    return [launcher for launcher in found if launcher and os.path.exists(launcher)]


def test_alone():
    world = ag.dist.world()
    assert (world.rank, world.size, world.share) == (0, 1, (0, 1)) and repr(world) == "World(rank=0, size=1)"
    x = ag.ones(3)
    ag.dist.broadcast({"x": [x]}, world)
    assert ag.dist.sum(x, world).tolist() == [1, 1, 1]
    assert [total.tolist() for total in ag.dist.sum([x, ag.ones(1)], world)] == [[1, 1, 1], [1]]
    assert world.figures.moves == 0 and world.figures.hidden_share == 1
    with pytest.raises(ValueError, match=r"\[world\] timeout_s must be a positive number of seconds, got -1"):
        ag.dist.world(timeout_s=-1)


def test_share():
    parts = [ag.data.Batches((np.arange(11),), 4, shuffled=False, share=(index, 2)) for index in range(2)]
    assert [[batch.tolist() for batch, in part] for part in parts] == [[[0, 1], [4, 5]], [[2, 3], [6, 7]]]
    assert parts[0].left_out == 3 and len(parts[0]) == 2
    with pytest.raises(TypeError, match=r"\[Batches\] share must be an index and a count, such as world.share"):
        ag.data.Batches((np.arange(3),), 1, share=2)
    with pytest.raises(ValueError, match=r"\[Batches\] batch_size 3 cannot be shared evenly by 2"):
        ag.data.Batches((np.arange(3),), 3, share=(0, 2))


def outputs_of(program):
    """The number of processes and the lines that they print, for each MPI that is there and for 1 and 2 processes."""
    if not launchers():
        pytest.skip("no mpiexec is found")
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    outputs = []
    for launcher in launchers():
        for ranks in (1, 2):
            run = subprocess.run([launcher, "-n", str(ranks), sys.executable, "-c", program], env=environment, timeout=120,
                                 capture_output=True, text=True)
            if "asyncgrad was built" in run.stderr:
                continue  # without this family
            assert run.returncode == 0, run.stdout + run.stderr
            lines = [line for line in run.stdout.splitlines() if line.startswith("result")]
            assert len(lines) == ranks and len(set(lines)) == 1, run.stdout
            outputs.append((ranks, lines[0]))
    if not any(ranks > 1 for ranks, _ in outputs):
        pytest.skip("the extension was built without MPI")
    return outputs


def test_on_several_processes():
    for ranks, line in outputs_of(TRAINING):
        assert line.startswith(f"result {ranks} [{ranks}.0, {ranks}.0]")


def test_trainer_of_mxnet_adds_gradients_of_all_processes():
    # Each of two steps subtracts half of the mean gradient: (1, 2) in one process, and (1, 2.5) in two.
    expected = {1: "result 1 [[0.0, -1.0]]", 2: "result 2 [[0.0, -1.5]]"}
    assert all(line == expected[ranks] for ranks, line in outputs_of(GLUON))


def test_trainer_of_mxnet_knows_dist_sync_alone():
    from asyncgrad.mxnet import gluon
    gluon.Trainer({}, kvstore="dist_sync")
    with pytest.raises(NotImplementedError, match="there is 'dist_sync'"):
        gluon.Trainer({}, kvstore="dist_async")
