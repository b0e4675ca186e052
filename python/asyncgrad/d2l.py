"""The helpers that the chapters use, written for this project: stopwatches and devices."""
import itertools
import time

from .mxnet.context import cpu, gpu, num_gpus


class Timer:
    """Measures repeatedly, in seconds. It starts when it is made."""

    def __init__(self):
        self.times = []
        self.start()

    def start(self):
        """Starts the stopwatch again."""
        self.tik = time.perf_counter()

    def stop(self):
        """Records the time since the last start(), and returns it."""
        self.times.append(time.perf_counter() - self.tik)
        return self.times[-1]

    def avg(self):
        """The mean of the times."""
        return sum(self.times) / len(self.times)

    def sum(self):
        """The sum of the times."""
        return sum(self.times)

    def cumsum(self):
        """The sums of the times up to each."""
        return list(itertools.accumulate(self.times))


class Benchmark:
    """Prints how long the body of a `with` statement takes. It waits for nothing."""

    def __init__(self, description="Done"):
        self.description = description

    def __enter__(self):
        self.timer = Timer()
        return self

    def __exit__(self, *_):
        print(f"{self.description}: {self.timer.stop():.4f} sec")


def try_gpu(i=0):
    """gpu(i) if it exists, else the CPU."""
    return gpu(i) if num_gpus() > i else cpu()


def try_all_gpus():
    """All GPUs, or the CPU if there is none."""
    return [gpu(i) for i in range(num_gpus())] or [cpu()]
