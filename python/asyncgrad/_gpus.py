"""What gpu(0), gpu(1) and so on stand for under other libraries' names."""
import asyncgrad as ag


def gpus():
    """The names of the parts of the CPU that stand in for GPUs; without such parts, those of the GPUs."""
    parts = ag.engine_options()["cpu_parts"]
    if parts > 1:
        return [f"cpu:{i}" for i in range(1, parts)]
    return [device["device"] for device in ag.devices() if device["device"].startswith("cuda")]
