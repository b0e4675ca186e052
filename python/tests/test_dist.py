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
average = ag.optim.WeightAverage(net.parameters())
ag.dist.broadcast(net, world)
ag.dist.broadcast([{"adam": adam, "average": average}, ()], world)
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
average.swap()
weight += net.parameters()[0].numpy().tobytes().hex()
states = [ag.full((2,), float(world.rank)), ag.full((), float(world.rank))]
ag.dist.broadcast({"h": states[0], "c": [states[1]]}, world)
assert states[0].tolist() == [0, 0] and states[1].item() == 0
sgd = ag.optim.SGD([ag.parameter(ag.zeros(2))], lr=0.1, momentum=0.5)
(sgd.parameters()[0] * (world.rank + 1)).sum().backward()
sgd.step()
ag.dist.broadcast((sgd.parameters(), [sgd]), world)
sgd.zero_grad()
sgd.parameters()[0].grad = ag.zeros(2)
sgd.step()
weight += sgd.parameters()[0].numpy().tobytes().hex()  # with rank 0's velocity
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


ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}


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
    for value in (3, None, "x", [x, 3.5], {"x": [np.ones(2)]}, iter([x]), ag.default_generator()):
        with pytest.raises(TypeError, match=r"\[broadcast\] takes a layer, an optimiser, a WeightAverage, a tensor, or a list, "):
            ag.dist.broadcast(value, world)
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
    outputs = []
    for launcher in launchers():
        for ranks in (1, 2):
            run = subprocess.run([launcher, "-n", str(ranks), sys.executable, "-c", program], env=ENVIRONMENT, timeout=120,
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


PARTS = """
import os, numpy as np, asyncgrad as ag
world = ag.dist.world(timeout_s=20)
parts = ag.dist.Parts(world, 4)
with ag.GeneratorScope(ag.Generator(5)):
    net = ag.nn.Sequential(ag.nn.Dense(4, 8, ag.relu), ag.nn.BatchNorm(8), ag.nn.Dropout(0.3), ag.nn.Dense(8, 1))
adam = ag.optim.Adam(net.parameters(), lr=0.01)
rows = np.arange(104, dtype=np.float32).reshape(26, 4) / 96
batches = ag.data.Batches((rows,), 8, share=parts.share)
assert batches.left_out == 2
for epoch in range(3):
    for batch in batches:
        for part in parts.mine():
            x, = parts.rows(batch, part)
            assert x.shape[0] == 2
            (net(x) ** 2).mean().backward()
            parts.add(adam)
        parts.average(adam)
        adam.step()
        adam.zero_grad()
state = b"".join(tensor.numpy().tobytes() for _, tensor in net.state()).hex()
os.write(1, f"result {state}\\n".encode())
"""


def test_parts_have_the_same_bits_on_any_number_of_processes():
    lines = set()
    for command in [[]] + [[launcher, "-n", str(ranks)] for launcher in launchers() for ranks in (2, 4)]:
        run = subprocess.run([*command, sys.executable, "-c", PARTS], env=ENVIRONMENT, timeout=120, capture_output=True, text=True)
        if "asyncgrad was built" in run.stderr:
            continue
        assert run.returncode == 0, run.stdout + run.stderr
        lines.update(line for line in run.stdout.splitlines() if line.startswith("result"))
    assert len(lines) == 1


LEFT = """
import os, asyncgrad as ag
world = ag.dist.world(timeout_s=20)
parts = ag.dist.Parts(world, 2)
weight = ag.parameter(ag.ones(2))
sgd = ag.optim.SGD([weight], lr=1.0)

def step(fails):
    for part in parts.mine():
        if fails and part == 1:
            raise KeyError("no rows")
        (weight * part).sum().backward()
        parts.add(sgd)
    parts.average(sgd)
    sgd.step()
    ag.wait_all()

try:
    step(True)
except KeyError as error:
    text = str(error) if world.rank == world.size - 1 else "on another process"
except ag.Error as error:
    text = "'no rows'" if "rank 1: [Parts.mine] an exception has left the loop at " in str(error) else "?"
    text += "" if " in part 1: KeyError: 'no rows'" in str(error) else str(error)
ag.recover()
sgd.zero_grad()
step(False)
os.write(1, f"result {text} {weight.tolist()}\\n".encode())
"""


def test_an_exception_in_a_loop_over_parts_is_told_to_all():
    assert {line for _, line in outputs_of(LEFT)} == {"result 'no rows' [0.5, 0.5]"}


def test_parts_put_the_generator_back():
    parts, before = ag.dist.Parts(ag.dist.world(), 2), ag.default_generator()
    place = before.place
    with pytest.raises(KeyError):
        for part in parts.mine():
            assert ag.default_generator() is not before
            ag.randn(3)
            if part == 1:
                raise KeyError
    assert ag.default_generator() is before and before.place == place
    for _ in parts.mine():
        break
    assert ag.default_generator() is before


def test_parts_go_on_from_a_checkpoint(tmp_path):
    sgd = ag.optim.SGD([ag.parameter(ag.ones(2))], lr=1.0)

    def first_numbers(parts):
        numbers = []
        for _ in parts.mine():
            numbers.append(ag.randn(2).tolist())
            parts.add(sgd)
        parts.average(sgd)
        return numbers

    parts = ag.dist.Parts(ag.dist.world(), 2)
    first_numbers(parts)
    ag.Checkpoint(parts=parts).save(str(tmp_path / "file"))
    with ag.GeneratorScope(ag.Generator(9)):
        other = ag.dist.Parts(ag.dist.world(), 2)
    ag.Checkpoint(parts=other).load(str(tmp_path / "file"))
    assert other.get_state() == parts.get_state() and parts.get_state()["step"] == 1
    assert first_numbers(other) == first_numbers(parts)


def test_parts_refuse_what_does_not_fit():
    weight = ag.parameter(ag.ones(2))
    sgd = ag.optim.SGD([weight], lr=1.0)
    parts = ag.dist.Parts(ag.dist.world(), 4)
    assert (parts.count, parts.share) == (4, (0, 4, 4))
    with pytest.raises(ValueError, match=r"\[Parts\] count must be a power of two, because sums form one binary tree, got 6"):
        ag.dist.Parts(ag.dist.world(), 6)
    with pytest.raises(TypeError, match=r"\[Parts\] count must be"):
        ag.dist.Parts(ag.dist.world(), "8")
    with pytest.raises(ValueError, match=r"\[Parts.add\] no loop over mine\(\) goes on"):
        parts.add(sgd)
    with pytest.raises(ValueError, match=r"\[Parts.average\] 0 of this rank's 4 parts have ended, and 0 were added"):
        parts.average(sgd)
    with pytest.raises(ValueError, match=r"\[Parts.rows\] 4 parts cannot share the rows of x \(3, 2\) evenly"):
        parts.rows((ag.ones(3, 2),), 0)
    with pytest.raises(ValueError, match=r"\[Parts.rows\] part 4 is not one of this rank's, which are 0 to 3"):
        parts.rows(ag.ones(4, 2), 4)
    with pytest.raises(ValueError, match=r"\[Parts.mine\] the loop over mine\(\) at .* goes on"):
        for _ in parts.mine():
            list(parts.mine())
    for part in parts.mine():
        (weight * part).sum().backward()
        parts.add(sgd)
    parts.average(sgd)
    assert weight.grad.tolist() == [1.5, 1.5]


def test_running_statistics_of_a_layer_of_ones_own():
    running = ag.zeros(2)
    ag.nn.update_running(running, 0.5, ag.ones(2), 2.0)
    assert running.tolist() == [2, 2]
    sgd = ag.optim.SGD([ag.parameter(ag.ones(2))], lr=1.0)
    parts = ag.dist.Parts(ag.dist.world(), 2)
    for part in parts.mine():
        ag.nn.update_running(running, 0.5, ag.full((2,), float(part)), 1.0)
        parts.add(sgd)
        assert running.tolist() == [2, 2]
    parts.average(sgd)
    assert running.tolist() == [1.5, 1.5]
    with pytest.raises(ValueError, match=r"\[update_running\] running float32 \(2\) and value float32 \(3\) differ"):
        ag.nn.update_running(running, 0.5, ag.ones(3), 1.0)
