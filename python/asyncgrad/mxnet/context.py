"""Devices under MXNet's names."""
import threading

import asyncgrad as ag
from asyncgrad import extend


class _Entered(threading.local):
    """The devices of the `with` statements that a thread is in."""

    def __init__(self):
        self.devices = []


_entered = _Entered()


class Context:
    """A device: cpu() or gpu(i), a GPU, or after cpu_as_gpus(n) a part of the CPU that stands in for one.

    `with gpu(0):` makes it the device of new arrays in this thread.
    """

    def __init__(self, device_type, device_id=0):
        if isinstance(device_type, Context):
            pins, device_id = device_type.is_pinned, device_type.device_id
            device_type = "cpu_pinned" if pins else device_type.device_type
        if device_type not in ("cpu", "gpu", "cpu_pinned", "cpu_shared"):
            raise ValueError(f"there is no device {device_type}")
        self.device_type = "gpu" if device_type == "gpu" else "cpu"
        self.is_pinned = device_type == "cpu_pinned"
        self.device_id = device_id

    @property
    def __asyncgrad_device__(self):
        if self.device_type == "cpu":
            return "cpu"
        known = extend.gpus()
        if not 0 <= self.device_id < len(known):
            why = f" ({ag.why_no_gpu()})" if not known else ""
            raise ValueError(f"there is no {self}{why}; cpu_as_gpus(n) lets parts of the CPU stand in for GPUs")
        return known[self.device_id]

    def __eq__(self, other):
        return isinstance(other, Context) and (self.device_type, self.device_id) == (other.device_type, other.device_id)

    def __hash__(self):
        return hash((self.device_type, self.device_id))

    def __repr__(self):
        return f"{self.device_type}({self.device_id})"

    def __enter__(self):
        _entered.devices.append(self)
        return self

    def __exit__(self, *_):
        _entered.devices.pop()

    def empty_cache(self):
        """Gives cached memory of the device back to the system, as trim_cache() does."""
        ag.trim_cache(self)


def cpu(device_id=0):
    """The CPU."""
    return Context("cpu", device_id)


def gpu(device_id=0):
    """GPU `device_id`, or the part of the CPU that stands in for it."""
    return Context("gpu", device_id)


def cpu_pinned(device_id=0):
    """The CPU; as_in_ctx() and copyto() put an array there into memory that GPUs copy from directly, where there is one."""
    return Context("cpu_pinned", device_id)


def pinned(x):
    """The array on the CPU, in pinned memory where there is a GPU; itself if that is where it is."""
    if x.device.startswith("cpu:"):  # a part that stands in for a GPU
        x = x.to("cpu")
    return x if ag.why_no_gpu() else x.pin_memory()


def or_cpu(ctx):
    """A Context, or the CPU in place of a device that is not there."""
    try:
        device_of(ctx)
    except ValueError:
        return cpu()
    return ctx


def cpu_as_gpus(n):
    """Divides the CPU into n + 1 parts: cpu(), gpu(0), ... gpu(n - 1). Waits until everything is finished."""
    ag.set_engine_options(cpu_parts=n + 1)


def num_gpus():
    """How many GPUs there are, or parts of the CPU that stand in for them."""
    return len(extend.gpus())


def current_context():
    """The device of `with gpu(0):`, or the CPU."""
    return _entered.devices[-1] if _entered.devices else cpu()


def of_device(name):
    """The Context of a device's name here."""
    if name == "cpu":
        return cpu()
    known = extend.gpus()
    return gpu(known.index(name) if name in known else int(name.partition(":")[2]))


def device_of(ctx):
    """The device's name for a Context, or for None that of the current one."""
    return (current_context() if ctx is None else ctx).__asyncgrad_device__
