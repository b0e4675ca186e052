"""How a system in Python is timed; stopwatch.h does the same in C++.

A system is a program that takes a workload's name, a number of units and a device, warms up, and prints one line of
JSON: its version, the seconds of one unit, as the median over repetitions of so many units, and on a CPU how much its
resident memory grew from the first unit on.
"""
import contextlib
import json
import os
import statistics
import sys
import time


def command_line():
    """The workload's name, its units, and the device."""
    name, units, device = sys.argv[1:]
    return name, int(units), device


def repeat(run, units, wait, at_least_s, only_queue=False, at_least=3):
    """Seconds of each repetition; with only_queue until the last unit is queued, else until all are computed."""
    times, end = [], time.perf_counter() + at_least_s
    while len(times) < at_least or time.perf_counter() < end:
        started = time.perf_counter()
        run(units)
        queued = time.perf_counter()
        wait()
        times.append((queued if only_queue else time.perf_counter()) - started)
    return times


def choose_threads(set_threads, run, units, wait, at_least_s=0.25):
    """Sets the number of threads, one or one for each core, with which the units take the least time, and returns it."""

    def least_s(threads):
        set_threads(threads)
        return min(repeat(run, units, wait, at_least_s, at_least=2))  # the first may also prepare for the number

    best = min((len(os.sched_getaffinity(0)), 1), key=least_s)
    set_threads(best)
    return best


class ResidentGrowth:
    """How far the process's resident memory has risen above what it was at first."""

    def __init__(self):
        with contextlib.suppress(OSError):  # containers may refuse it
            with open("/proc/self/clear_refs", "w", encoding="utf-8") as file:
                file.write("5")  # the peak is what is resident now
        self._before = self._bytes("VmRSS")

    def _bytes(self, field):
        with open("/proc/self/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field))

    def peak_bytes(self):
        return max(0, self._bytes("VmHWM") - self._before)


def increments(zeros, wait, each=False):
    """The workloads `increments_*`: zeros() makes the tensor; wait(y) returns when it is computed, called after every
    increment, or once at the end."""

    def prepare():
        def run(units):
            y = zeros()
            for _ in range(units):
                y = y + 1
                if each:
                    wait(y)
            wait(y)

        return run

    return prepare


def main(version, workloads, wait=lambda: None, set_threads=None):
    """Does what the command line says. workloads: name -> function that prepares it and returns run(units), which
    does so many units; run.figures(), if there is one, gives more that is printed, such as a peak of memory, which
    run.forget_peak() starts again once all is warm. wait() returns when all that was
    queued is computed; not needed if run() waits itself. With set_threads(n) the better number of threads is taken."""
    name, units, device = command_line()
    if name not in workloads:
        sys.exit(f"there is no workload {name} here")
    run = workloads[name]()
    wait()
    growth = ResidentGrowth() if device == "cpu" else None
    repeat(run, units, wait, at_least_s=0.5, at_least=1)
    if hasattr(run, "forget_peak"):
        run.forget_peak()
    threads = {"threads": choose_threads(set_threads, run, units, wait)} if set_threads else {}
    times = repeat(run, units, wait, at_least_s=1, only_queue=name.endswith("_queued"))
    if sys.stdout is None:
        sys.exit("standard output is closed")
    figures = {"version": version, "seconds": statistics.median(times) / units}
    if growth:
        figures["growth_bytes"] = growth.peak_bytes()
    print(json.dumps(figures | threads | (run.figures() if hasattr(run, "figures") else {})))
