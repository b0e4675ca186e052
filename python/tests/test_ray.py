"""python -m asyncgrad.dist.ray, on a cluster of three nodes of one CPU each, all on this machine."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import pytest
from test_dist import launchers

try:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster
except ImportError:
    Cluster = None

TRAINING = """
import hashlib, os, sys, time, numpy as np, asyncgrad as ag
checkpoint_file, steps, pause_s = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
world = ag.dist.world(timeout_s=60)
parts = ag.dist.Parts(world, 4)
net = ag.nn.Sequential(ag.nn.Dense(4, 8, ag.relu), ag.nn.Dense(8, 1))
adam = ag.optim.Adam(net.parameters(), lr=0.01)
progress = {"step": 0}
checkpoint = ag.Checkpoint(net=net, adam=adam, parts=parts, progress=progress)
if os.path.exists(checkpoint_file):
    checkpoint.load(checkpoint_file)
else:
    ag.dist.broadcast(net, world)
rows = np.random.default_rng(0).random((steps, 8, 4), np.float32)
while progress["step"] < steps:
    for batch in ag.data.Batches((rows[progress["step"]],), 8, shuffled=False, share=parts.share):
        for part in parts.mine():
            x, = parts.rows(batch, part)
            (ag.randn(1) * (net(x) - x.sum(1, keepdims=True)) ** 2).mean().backward()
            parts.add(adam)
    parts.average(adam)
    adam.step()
    adam.zero_grad()
    progress["step"] += 1
    if progress["step"] % 5 == 0:
        if world.rank == 0:
            checkpoint.save(checkpoint_file)
        ag.dist.sum(ag.ones(1), world).item()  # nobody is further than one checkpoint
    time.sleep(pause_s)
    os.write(1, f"step {progress['step']} {os.environ.get('RAY_RAYLET_PID')}\\n".encode())
digest = hashlib.sha256(b"".join(p.numpy().tobytes() for p in net.parameters())).hexdigest()
os.write(1, f"hash {digest}\\n".encode())
"""
NODE = {"num_cpus": 1, "object_store_memory": 80 << 20}


@pytest.fixture(scope="module")
def cluster():
    if Cluster is None:
        pytest.skip("Ray is not installed; scripts/ray.sh runs this where it is")
    cluster = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
    for _ in range(2):
        cluster.add_node(**NODE)
    yield cluster
    cluster.shutdown()


@pytest.fixture(params=["mpich", "openmpi"])
def mpiexec(request):
    for launcher in launchers():
        if request.param in launcher:
            run = subprocess.run([launcher, "-n", "2", sys.executable, "-c", "import asyncgrad as ag; ag.dist.world()"],
                                 env=environment(), capture_output=True, text=True, timeout=120)
            if "asyncgrad was built" not in run.stderr:
                assert run.returncode == 0, run.stderr
                return launcher
    pytest.skip(f"no mpiexec of {request.param} is found, or the extension was built without it")


@pytest.fixture
def folder():
    """In its path are the command lines of all that a test starts, and nothing of them is left."""
    with tempfile.TemporaryDirectory(prefix="ag_ray_") as name:
        yield pathlib.Path(name)
        assert left(name) == []


def left(folder, within_s=10):
    """The processes, except for this one, in whose command line the folder is: those that are left after some seconds."""
    end = time.monotonic() + within_s
    while True:
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                command = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if str(folder) in command and path.name != str(os.getpid()):
                found.append(command)
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.1)


def environment(**more):
    return {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", **more}


def start(cluster, mpiexec, folder, *arguments):
    command = [sys.executable, "-m", "asyncgrad.dist.ray", "--address", cluster.address, "--mpiexec", mpiexec, *arguments]
    return subprocess.Popen(command, env=environment(TMPDIR=str(folder)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True)


def run(cluster, mpiexec, folder, *arguments):
    with start(cluster, mpiexec, folder, *arguments) as process:
        output = process.communicate(timeout=180)[0]
    return process.returncode, output


def training(folder, pause_s):
    program = folder / "training.py"
    program.write_text(TRAINING)
    return [sys.executable, str(program), str(folder / "checkpoint"), "200", str(pause_s)]


def hashes(output):
    return {line for line in output.splitlines() if line.startswith("hash ")}


def raylet(node):
    return node.all_processes["raylet"][0].process.pid


def test_a_lost_node(cluster, mpiexec, folder):
    """Four ranks on four nodes, of which one is lost: two ranks go on, to the bits of one process that nothing disturbs."""
    undisturbed = subprocess.run(training(folder, pause_s=0), capture_output=True, text=True, timeout=120)
    assert undisturbed.returncode == 0, undisturbed.stderr
    os.remove(folder / "checkpoint")

    cluster.add_node(**NODE)
    times = {}
    lines = []
    with start(cluster, mpiexec, folder, "--sizes", "4,2,1", "--restarts", "1", "--", *training(folder, pause_s=0.05)) as process:
        for line in process.stdout:
            lines.append(line)
            words = line.split()
            if line.startswith("step ") and int(words[1]) >= 12 and "killed" not in times and int(words[2]) != raylet(cluster.head_node):
                assert left(folder, within_s=0)
                cluster.remove_node(next(node for node in cluster.worker_nodes if raylet(node) == int(words[2])), allow_graceful=False)
                times["killed"] = time.monotonic()
            elif "is lost" in line:
                times.setdefault("noticed", time.monotonic())
            elif "starting 2 ranks, restart 1 of 1" in line:
                times["started"] = time.monotonic()
            elif line.startswith("step ") and "first step" not in times and "started" in times:
                times["first step"] = time.monotonic()
                assert int(words[1]) > 10 and int(words[1]) % 5 == 1  # after that of a checkpoint
    output = "".join(lines)
    assert process.returncode == 0, output
    assert list(times) == ["killed", "noticed", "started", "first step"], output
    assert hashes(output) == hashes(undisturbed.stdout) and len(hashes(output)) == 1, output
    print({name: round(at - times["killed"], 1) for name, at in times.items()})


def test_no_free_node(cluster, mpiexec, folder):
    status, output = run(cluster, mpiexec, folder, "--sizes", "9,4", "--wait", "1", "--", "true", str(folder))
    assert status == 1 and "no place was free for 4 ranks of 1 CPUs within 1 s; --wait SECONDS waits longer" in output, output
    with start(cluster, mpiexec, folder, "--sizes", "4", "--", "echo", "started", str(folder)) as process:
        while "waiting up to 300 s" not in process.stdout.readline():
            pass
        node = cluster.add_node(**NODE)
        output = process.stdout.read()
    cluster.remove_node(node)
    assert process.returncode == 0 and output.count("started") == 4, output


def test_restarts_are_used_up(cluster, mpiexec, folder):
    status, output = run(cluster, mpiexec, folder, "--sizes", "2,1", "--restarts", "1", "--",
                         "sh", "-c", f"echo started {folder}; exit 3")
    assert status == 3 and output.count("starting 2 ranks") == 2 and output.count("started") == 4, output
    assert "all 1 restarts are used up" in output


def test_the_largest_size_that_fits(cluster, mpiexec, folder):
    status, output = run(cluster, mpiexec, folder, "--sizes", "1,2,8", "--", "sh", "-c", f"echo workers $ASYNCGRAD_WORKERS {folder}")
    assert status == 0 and output.count("workers 1") == 2, output


def test_no_such_program_on_a_node(cluster, mpiexec, folder):
    program = folder / "program"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o700)
    status, output = run(cluster, mpiexec, folder, "--sizes", "2", "--", str(program))
    assert status == 127 and output.count("starting") == 1 and "cannot be started: No such file" in output, output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_after_a_signal(cluster, mpiexec, folder, number):
    with start(cluster, mpiexec, folder, "--sizes", "2", "--", "sh", "-c", f"echo started; sleep 100; {folder}") as process:
        while "started" not in process.stdout.readline():
            pass
        assert len(left(folder, within_s=0)) > 3
        process.send_signal(number)
        assert process.wait(30) == (-9 if number == signal.SIGKILL else 128 + number)


def called(*arguments, without_ray=False):
    program = ("import sys; sys.modules['ray'] = None; " if without_ray else "import sys; ") + \
        "from asyncgrad.dist import ray; sys.exit(ray.main(sys.argv[1:]))"
    run = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=60)
    return run.returncode, run.stderr


def test_mistakes():
    status, output = called("--sizes", "2", "--", "/no/such/program")
    assert status == 127 and output == "asyncgrad.dist.ray: there is no program /no/such/program\n"
    status, output = called("--sizes", "2", "--mpiexec", "/no/mpiexec", "--", "true")
    assert status == 127 and output == "asyncgrad.dist.ray: there is no program /no/mpiexec\n"
    status, output = called("--sizes", "2", "--mpiexec", "true", "--", "true", without_ray=True)
    assert status == 1 and output == "asyncgrad.dist.ray: Ray is not installed: pip install ray\n"
    for arguments in (["--sizes", "2,0"], ["--sizes", "two"], ["--sizes", "2", "--cpus", "0"], ["--sizes", "2", "--restarts", "-1"]):
        assert called(*arguments, "--", "true")[0] == 2


def test_is_imported_by_its_name_alone():
    program = "import sys, asyncgrad; sys.exit('ray' in sys.modules or 'asyncgrad.dist.ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0
