"""Where the systems come from: asyncgrad from its build, peers from PyPI into environments of their own.

A peer NAME is peer_NAME.py, run in the environment .peers/NAME with the packages that NAME.txt lists; libtorch is built
against the package in PyTorch's environment. An environment is made once, and again when its list changes. On a GPU the
peers are PyTorch in several ways: the machine's own PyTorch if it sees the GPU, else the one in .peers/pytorch.
"""
import functools
import shutil
import subprocess
import sys
from pathlib import Path

import files

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ENVIRONMENTS = ROOT / ".peers"


class Unavailable(Exception):
    """Says in a line why a peer cannot take part."""


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it printed no message"


def check_run(what, *command):
    """Returns what the command prints. Throws Unavailable if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(f"{what}: {last_line(done.stderr or done.stdout)}")
    return done.stdout


def environment(name):
    """The environment's Python; installs first if the list of packages has changed since."""
    wanted, folder = HERE / f"{name}.txt", ENVIRONMENTS / name
    python, installed = folder / "bin" / "python", folder / "installed.txt"
    if installed.exists() and installed.read_text() == wanted.read_text():
        return python
    print(f"Installing {name} into {folder}", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    # Without pip inside: Debian's venv cannot make that. The pip outside installs.
    check_run("no environment", sys.executable, "-m", "venv", "--without-pip", folder)
    pip = [sys.executable, "-m", "pip", "--python", python, "--quiet", "--disable-pip-version-check"]
    from_list = ["install", "--retries", "2", "--only-binary=:all:", "--require-hashes", "--requirement", wanted]
    check_run("could not be installed", *pip, *from_list)
    files.replace(installed, wanted.read_text())
    return python


def python_peer(name):
    return [environment(name), HERE / f"peer_{name}.py"]


@functools.cache
def pytorch_for_gpu():
    """A Python whose PyTorch sees a GPU, or else why there is none."""
    look = "import sys, torch; sys.exit(None if torch.cuda.is_available() else 'its PyTorch sees no GPU')"
    try:
        check_run("this machine's Python", sys.executable, "-c", look)
        return sys.executable
    except Unavailable:
        pass
    try:
        python = environment("pytorch")
        check_run("the environment's Python", python, "-c", look)
        return python
    except Unavailable as reason:
        return reason


def gpu_peer(name):
    python = pytorch_for_gpu()
    if isinstance(python, Unavailable):
        raise python
    return [python, HERE / f"peer_{name}.py"]


def libtorch():
    find = "import importlib.util; print(importlib.util.find_spec('torch').submodule_search_locations[0])"
    package = check_run("no libtorch", environment("pytorch"), "-c", find).strip()
    build = ENVIRONMENTS / "libtorch"
    configure = ["cmake", "--fresh", "-G", "Ninja", "-S", HERE, "-B", build, f"-DTORCH={package}"]
    check_run("could not be configured", *configure)
    check_run("could not be built", "cmake", "--build", build)
    return [build / "peer_libtorch"]


ASYNCGRAD = [ROOT / "build" / "release" / "peer_asyncgrad"]


def asyncgrad_in_python(program="peer_asyncgrad_python.py"):
    """The command of a program that uses asyncgrad's Python package. Without the environment in which that was built
    this machine's own Python runs it, which then needs the same packages."""
    package, python = ROOT / "build" / "release" / "python", ENVIRONMENTS / "python" / "bin" / "python"
    return ["env", f"PYTHONPATH={package}", python if python.exists() else sys.executable, HERE / program]


def built():
    """When the Python package was built."""
    return (ROOT / "build" / "release" / "python" / "asyncgrad" / "_core.abi3.so").stat().st_mtime


# glibc told to keep what it is given back. By default it returns large results to the kernel, which clears each anew.
KEEPING = {"MALLOC_MMAP_MAX_": 0, "MALLOC_TRIM_THRESHOLD_": 2**40, "MALLOC_TOP_PAD_": 2**28}


def peer_of(system):
    """The name of the peer whose setting this is."""
    return system.split("/")[0]


def settings(peer, command, device_type="cpu"):
    """The settings in which a peer runs, each with its command: its name, or PEER/SETTING."""
    keeping = ["env", *(f"{name}={value}" for name, value in KEEPING.items()), *command]
    if device_type == "cpu" and peer in ("libtorch", "pytorch"):
        return {f"{peer}/keeping": keeping, f"{peer}/default": command}
    if device_type == "cpu" and peer == "pytorch_compiled":
        return {peer: keeping}
    return {peer: command}


# Type of device -> name -> function that makes the peer ready and returns its command, or throws Unavailable.
PEERS = {
    "cpu": {
        "libtorch": libtorch,
        "pytorch": lambda: python_peer("pytorch"),
        "pytorch_compiled": lambda: [environment("pytorch"), HERE / "peer_pytorch_compiled.py"],
        "jax": lambda: python_peer("jax"),
        "mxnet": lambda: python_peer("mxnet"),
        "numpy": lambda: python_peer("numpy"),
    },
    "cuda": {
        "pytorch": lambda: gpu_peer("pytorch"),
        "pytorch_compiled": lambda: gpu_peer("pytorch_compiled"),
        "pytorch_graphs": lambda: gpu_peer("pytorch_graphs"),
    },
}
