"""Where the systems come from: asyncgrad from its build, peers from PyPI into environments of their own.

A peer NAME is peer_NAME.py, run in the environment .peers/NAME that holds what NAME.txt lists; libtorch is built against
the package in PyTorch's. A system that is there is not fetched again.
"""
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ENVIRONMENTS = ROOT / ".peers"


class Unavailable(Exception):
    """Says in a line why a peer cannot take part."""


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


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
    from_list = ["install", "--retries", "2", "--only-binary=:all:", "--requirement", wanted]
    check_run("could not be installed", *pip, *from_list)
    shutil.copy(wanted, installed)
    return python


def python_peer(name):
    return [environment(name), HERE / f"peer_{name}.py"]


def libtorch():
    find = "import importlib.util; print(importlib.util.find_spec('torch').submodule_search_locations[0])"
    package = check_run("no libtorch", environment("pytorch"), "-c", find).strip()
    build = ENVIRONMENTS / "libtorch"
    configure = ["cmake", "--fresh", "-G", "Ninja", "-S", HERE, "-B", build, f"-DTORCH={package}"]
    check_run("could not be configured", *configure)
    check_run("could not be built", "cmake", "--build", build)
    return [build / "peer_libtorch"]


ASYNCGRAD = [ROOT / "build" / "release" / "peer_asyncgrad"]

# Name -> function that makes the peer ready and returns its command, or throws Unavailable.
PEERS = {
    "libtorch": libtorch,
    "pytorch": lambda: python_peer("pytorch"),
    "jax": lambda: python_peer("jax"),
    "mxnet": lambda: python_peer("mxnet"),
    "numpy": lambda: python_peer("numpy"),
}
