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
total = ag.dist.sum(ag.ones(2), world)
weight = net.parameters()[0].numpy().tobytes().hex()
os.write(1, f"result {world.size} {total.tolist()} {weight}\\n".encode())  # whole lines, which do not mix
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


def test_on_several_processes():
    if not launchers():
        pytest.skip("no mpiexec is found")
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    has_run = False
    for launcher in launchers():
        for ranks in (1, 2):
            run = subprocess.run([launcher, "-n", str(ranks), sys.executable, "-c", TRAINING], env=environment, timeout=120,
                                 capture_output=True, text=True)
            if "asyncgrad was built" in run.stderr:
                continue  # without this family
            assert run.returncode == 0, run.stdout + run.stderr
            lines = [line for line in run.stdout.splitlines() if line.startswith("result")]
            assert len(lines) == ranks and len(set(lines)) == 1, run.stdout
            assert lines[0].startswith(f"result {ranks} [{ranks}.0, {ranks}.0]")
            has_run = has_run or ranks > 1
    if not has_run:
        pytest.skip("the extension was built without MPI")
