"""The machine of a measurement, and the share of other processes meanwhile."""
import datetime
import os
import resource
import subprocess

INSTRUCTION_SETS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")


def processor():
    """Its name, its number of cores, and the instruction sets that matter here."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        fields = dict(line.split(":", 1) for line in file if ":" in line)
    fields = {name.strip(): value.strip() for name, value in fields.items()}
    flags = fields.get("flags", "").split()
    known = [name for name in INSTRUCTION_SETS if name in flags]
    return f"{fields.get('model name', 'unknown')}, {os.cpu_count()} cores, {' '.join(known)}"


class NoGpu(Exception):
    """Says in a line why a GPU cannot be measured."""


def gpu(device):
    """The name and the driver of the GPU "cuda:N". Throws NoGpu."""
    number = device.removeprefix("cuda:")
    ask = ["nvidia-smi", f"--id={number}", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(ask, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise NoGpu(f"there is no {device} here: nvidia-smi is missing") from None
    said = (done.stdout or done.stderr).strip()
    if done.returncode:
        raise NoGpu(f"there is no {device} here: {said}")
    name, driver = said.split(", ")
    return f"{name}, driver {driver}"


def busy_seconds():
    """The busy seconds of all cores since the machine started, for all processes."""
    with open("/proc/stat", encoding="utf-8") as file:
        user, nice, system, _idle, _waiting, irq, softirq, *_ = map(int, file.readline().split()[1:])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def own_seconds():
    """The seconds of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


class Observed:
    """The machine while the body runs; `others` is the share of all cores that other processes took. `gpu`: gpu()'s
    answer, if one is measured."""

    def __init__(self, gpu=None):
        self.gpu = gpu

    def __enter__(self):
        self.date = datetime.date.today().isoformat()
        self.processor = processor()
        self._started = datetime.datetime.now()
        self._others_s = busy_seconds() - own_seconds()
        return self

    def __exit__(self, *_):
        elapsed_s = (datetime.datetime.now() - self._started).total_seconds()
        others_s = busy_seconds() - own_seconds() - self._others_s
        self.others = max(0, others_s) / (elapsed_s * os.cpu_count())
