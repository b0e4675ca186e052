"""Starts a training on the nodes of a Ray cluster, and again when a node is lost: from a node of the cluster

    python -m asyncgrad.dist.ray --sizes 4,2,1 --restarts 3 -- python train.py

Ray gives the places, mpiexec starts the ranks: where it would call ssh, it calls a small program, for which a Ray task
runs the command on the node. Whatever ends the task ends the ranks there. docs/dist.md has more.
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

try:
    import ray
except ImportError:
    ray = None

__all__ = ["main"]

NO_PROGRAM = 127  # the status of a shell that does not find a program


def tied(parent=None):
    """Options with which Python becomes the program that follows, and the kernel ends that when its parent ends.

    The process `parent` may have ended before. It is text, because it runs on nodes that may not have asyncgrad.
    """
    is_orphan = "False" if parent is None else f"os.getppid() != {parent}"
    return ["-S", "-E", "-c", f"""import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL
if {is_orphan}: os._exit(1)
try: os.execvp(sys.argv[1], sys.argv[1:])
except OSError as error: os.write(2, f"{{sys.argv[1]}} cannot be started: {{error.strerror}}\\n".encode())
os._exit({NO_PROGRAM})
"""]


# What mpiexec calls as it would call ssh. It hands its arguments to this process, and ends with the status that it gets.
AGENT = """#!/bin/sh
exec '{python}' -S -E -c 'import json, socket, sys
with socket.socket(socket.AF_UNIX) as call:
    call.connect(sys.argv[1])
    call.sendall(json.dumps(sys.argv[2:]).encode() + b"\\n")
    sys.exit(int(call.makefile().readline() or 1))
' '{door}' "$@"
"""


def run_command(command):
    """Runs a shell's command on a node, as a Ray task. Returns its status and what it wrote; ranks write through mpiexec."""
    with tempfile.TemporaryFile() as output:
        status = subprocess.call([sys.executable, *tied(os.getpid()), "sh", "-c", command], stdin=subprocess.DEVNULL, stdout=output,
                                 stderr=output)
        output.seek(0)
        return status, output.read().decode(errors="replace")


def say(text):
    print(f"asyncgrad.dist.ray: {text}", file=sys.stderr, flush=True)


def living_nodes():
    return {node["NodeID"]: node for node in ray.nodes() if node["Alive"]}


def place(sizes, cpus, wait_s):
    """A placement group with a bundle for each rank of the largest size that fits, or None if none fits within wait_s."""
    end = time.monotonic() + wait_s
    has_said = False
    while True:
        room = sum(int(node["Resources"].get("CPU", 0) // cpus) for node in living_nodes().values())
        for size in sizes:
            if size > room:
                continue
            group = ray.util.placement_group([{"CPU": cpus}] * size)
            if group.wait(timeout_seconds=5):  # much longer than Ray needs where the CPUs are free
                return group
            ray.util.remove_placement_group(group)
        if time.monotonic() >= end:
            return None
        if not has_said:
            say(f"no place is free for {sizes[-1]} ranks of {cpus} CPUs; waiting up to {wait_s:g} s")
            has_said = True
        time.sleep(0.5)


class World:
    """The ranks that one mpiexec starts in the bundles of a placement group."""

    def __init__(self, group, cpus):
        self.group, self.cpus = group, cpus
        nodes = living_nodes()
        bundles = {}  # of each node
        for bundle, node in ray.util.placement_group_table(group)["bundles_to_node_id"].items():
            bundles.setdefault(node, []).append(bundle)
        # Names that nobody looks up: several nodes may have one address, as those of a test have.
        addresses = [nodes[node]["NodeManagerAddress"] if node in nodes else "lost" for node in bundles]
        self.nodes = {re.sub("[.:]", "-", f"node{i}-{address}"): node for i, (node, address) in enumerate(zip(bundles, addresses))}
        self.bundles = {name: bundles[node] for name, node in self.nodes.items()}
        self.tasks = {}  # Ray's task -> (name of its node, connection to the agent that waits for it)
        self.lost = set()  # names of nodes
        self.dead = set()  # ids of nodes that Ray's tasks found dead
        self.next_check = 0.0  # of nodes, in seconds of time.monotonic()

    def command(self, mpiexec, agent, program):
        places = ",".join(f"{name}:{len(bundles)}" for name, bundles in self.bundles.items())
        ranks = ["-n", str(sum(map(len, self.bundles.values()))), sys.executable, *tied(), *program]
        version = subprocess.run([mpiexec, "--version"], capture_output=True, text=True).stdout
        if "HYDRA" in version:
            return [mpiexec, "-launcher", "ssh", "-launcher-exec", agent, "-disable-hostname-propagation", "-localhost",
                    ray.util.get_node_ip_address(), "-hosts", places, *ranks]
        ssh = "plm_rsh" if "OpenRTE" in version else "plm_ssh"  # Open MPI 4; from 5 on
        return [mpiexec, "--mca", f"{ssh}_agent", agent, "--mca", f"{ssh}_no_tree_spawn", "1", "--leave-session-attached",
                "-x", "ASYNCGRAD_WORKERS", "--host", places, *ranks]

    def run(self, mpiexec, program):
        """Starts the ranks and waits for their end. Returns the status of mpiexec; 1 if a node was lost."""
        short = None if len(tempfile.gettempdir()) < 80 else "/tmp"  # a socket's path has 107 characters at most
        with tempfile.TemporaryDirectory(prefix="asyncgrad_", dir=short) as folder, socket.socket(socket.AF_UNIX) as door:
            agent = pathlib.Path(folder, "agent")
            agent.write_text(AGENT.format(python=sys.executable, door=f"{folder}/door"))
            agent.chmod(0o700)
            door.bind(f"{folder}/door")
            door.listen(128)
            door.settimeout(0.1)
            process = subprocess.Popen([sys.executable, *tied(os.getpid()), *self.command(mpiexec, str(agent), program)],
                                       env={"ASYNCGRAD_WORKERS": str(self.cpus), **os.environ},
                                       stdin=subprocess.DEVNULL)  # a restart could not read it again
            try:
                while (status := process.poll()) is None and not self.lost:
                    try:
                        self.start_task(door.accept()[0])
                    except TimeoutError:
                        self.look(timeout_s=0)
                        self.check_nodes()
            finally:
                self.end(process)
        return 1 if self.lost and status != 0 else status

    def start_task(self, call):
        """Starts what an agent asks for: options of ssh, the name of a node, the words of a shell's command."""
        call.settimeout(5)
        try:
            words = json.loads(call.makefile().readline())
        except (OSError, ValueError):  # the agent has ended
            return call.close()
        while words[0].startswith("-"):
            del words[0]
        name, *command = words
        where = ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy(self.group, self.bundles[name][0])
        run = ray.remote(run_command).options(num_cpus=self.cpus, max_retries=0, scheduling_strategy=where)
        self.tasks[run.remote(" ".join(command))] = name, call

    def look(self, timeout_s):
        """Tells the agents of tasks that have ended, and notes the nodes that are lost."""
        ended = ray.wait(list(self.tasks), num_returns=len(self.tasks), timeout=timeout_s)[0] if self.tasks else []
        for task in ended:
            name, call = self.tasks.pop(task)
            try:
                status, output = ray.get(task)
                if status != 0 and output:
                    say(f"{name} says:\n{output}")
            except ray.exceptions.RayError as error:
                status = 1
                self.lost.add(name)
                say(f"{name} is lost: {(str(error).splitlines() or [type(error).__name__])[0]}")
                if isinstance(error, ray.exceptions.NodeDiedError):
                    self.dead.add(self.nodes[name])
            with call, contextlib.suppress(OSError):  # the agent may have ended
                call.sendall(f"{status}\n".encode())

    def check_nodes(self):
        """Notes nodes that are lost before their task has begun: Ray would keep it for ever."""
        if time.monotonic() > self.next_check:
            living = living_nodes()
            for name in (name for name, node in self.nodes.items() if node not in living and name not in self.lost):
                self.lost.add(name)
                say(f"{name} is lost: Ray gets no sign of it")
            self.next_check = time.monotonic() + 2

    def end(self, process):
        """Ends what is left of mpiexec and of the tasks."""
        if process.poll() is None:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(2)
            process.kill()
            process.wait()
        self.look(timeout_s=5)  # the tasks end with mpiexec
        ray.util.remove_placement_group(self.group)  # ends those that have not
        ray.wait(list(self.tasks), num_returns=len(self.tasks), timeout=10) if self.tasks else None
        for _, call in self.tasks.values():
            call.close()

    def wait_until_ray_knows(self):
        """Ray places new work on a dead node for some seconds more, until it misses the node's heartbeats."""
        end = time.monotonic() + 60
        while self.dead & living_nodes().keys() and time.monotonic() < end:
            time.sleep(0.2)


def train(options):
    """Starts the program until it ends well, or the restarts are used up. Returns its status."""
    for restart in range(options.restarts + 1):
        group = place(options.sizes, options.cpus, options.wait)
        if group is None:
            say(f"no place was free for {options.sizes[-1]} ranks of {options.cpus} CPUs within {options.wait:g} s; "
                "--wait SECONDS waits longer")
            return 1
        size = group.bundle_count
        say(f"starting {size} ranks" + (f", restart {restart} of {options.restarts}" if restart else ""))
        world = World(group, options.cpus)
        status = world.run(options.mpiexec, options.program)
        if status == 0:
            return 0
        if status == NO_PROGRAM:
            say(f"status {status} means that there is no such program; it does not start again")
            return status
        world.wait_until_ray_knows()
        say(f"the {size} ranks ended with status {status}")
    say(f"all {options.restarts} restarts are used up")
    return status if status > 0 else 128 - status  # as a shell tells of a signal


def positive(text):
    if int(text) < 1:
        raise ValueError
    return int(text)


def sizes(text):
    return sorted(map(positive, text.split(",")), reverse=True)


def count(text):
    return positive(text) if text != "0" else 0


def seconds(text):
    number = float(text)
    if not 0 <= number < float("inf"):
        raise ValueError
    return number


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m asyncgrad.dist.ray", description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=sizes, required=True, help="numbers of ranks, as 4,2,1: the largest that fits starts")
    parser.add_argument("--restarts", type=count, default=3, help="how often it starts again, 3 by default")
    parser.add_argument("--cpus", type=positive, default=1, help="CPUs of each rank, 1 by default: so many workers it has")
    parser.add_argument("--wait", type=seconds, default=300, help="seconds to wait for a free place, 300 by default")
    parser.add_argument("--address", default=os.environ.get("RAY_ADDRESS", "auto"), help="of the cluster; this node's by default")
    parser.add_argument("--mpiexec", default="mpiexec", help="of MPICH or Open MPI, at the same place on all nodes")
    parser.add_argument("program", nargs="+", help="after --, with its arguments")
    options = parser.parse_args(arguments)
    for program in (options.program[0], options.mpiexec):
        if shutil.which(program) is None:
            say(f"there is no program {program}")
            return NO_PROGRAM
    if ray is None:
        say("Ray is not installed: pip install ray")
        return 1
    try:
        ray.init(options.address, log_to_driver=False, logging_level="ERROR")
    except ConnectionError as error:
        say(f"there is no Ray cluster at {options.address}: `ray start --head` starts one. {error}")
        return 1
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: sys.exit(128 + number))  # ends what is under way, too
    try:
        return train(options)
    finally:
        ray.shutdown()


if __name__ == "__main__":
    sys.exit(main())
