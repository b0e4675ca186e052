"""Devices under MXNet's names."""
import threading

import asyncgrad as ag


class _Entered(threading.local):
    """The devices of the `with` statements that a thread is in."""

    def __init__(self):
        self.devices = []


_entered = _Entered()


class Context:
    """A device: cpu() or gpu(i). Parts of the CPU stand in for GPUs after cpu_as_gpus(n).

    `with gpu(0):` makes it the device of new arrays in this thread.
    """

    def __init__(self, device_type, device_id=0):
        if isinstance(device_type, Context):
            device_type, device_id = device_type.device_type, device_type.device_id
        if device_type not in ("cpu", "gpu", "cpu_pinned", "cpu_shared"):
            raise ValueError(f"there is no device {device_type}")
        self.device_type = "gpu" if device_type == "gpu" else "cpu"
        self.device_id = device_id

    @property
    def __asyncgrad_device__(self):
        if self.device_type == "cpu":
            return "cpu"
        if not 0 <= self.device_id < num_gpus():
            raise ValueError(f"there is no {self}; cpu_as_gpus(n) lets parts of the CPU stand in for GPUs")
        return f"cpu:{self.device_id + 1}"

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
        """Gives all cached memory of the device back to the system."""
        ag.trim_cache(self)


def cpu(device_id=0):
    """The CPU."""
    return Context("cpu", device_id)


def gpu(device_id=0):
    """A part of the CPU that stands in for GPU `device_id`."""
    return Context("gpu", device_id)


def cpu_pinned(device_id=0):
    """The CPU."""
    return Context("cpu", device_id)


def cpu_as_gpus(n):
    """Divides the CPU into n + 1 parts: cpu(), gpu(0), ... gpu(n - 1). Waits until everything is finished."""
    ag.set_engine_options(cpu_parts=n + 1)


def num_gpus():
    """How many parts of the CPU stand in for GPUs."""
    return ag.engine_options()["cpu_parts"] - 1


def current_context():
    """The device of `with gpu(0):`, or the CPU."""
    return _entered.devices[-1] if _entered.devices else cpu()


def of_device(name):
    """The Context of a device's name here."""
    return gpu(int(name[4:]) - 1) if name.startswith("cpu:") and name != "cpu:0" else cpu()


def device_of(ctx):
    """The device's name for a Context, or for None that of the current one."""
    return (current_context() if ctx is None else ctx).__asyncgrad_device__
