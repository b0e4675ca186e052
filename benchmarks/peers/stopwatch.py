"""How a system in Python is timed; stopwatch.h does the same in C++.

A system is a program that takes a workload's name, a number of units and a device, warms up, and prints one line of
JSON: its version, and the seconds of one unit, as the median over repetitions of so many units.
"""
import json
import statistics
import sys
import time


def command_line():
    """The workload's name, its units, and the device."""
    name, units, device = sys.argv[1:]
    return name, int(units), device


def repeat(run, units, wait, at_least_s, only_queue=False):
    """Seconds of each repetition; with only_queue until the last unit is queued, else until all are computed."""
    times, end = [], time.perf_counter() + at_least_s
    while len(times) < 3 or time.perf_counter() < end:
        started = time.perf_counter()
        run(units)
        queued = time.perf_counter()
        wait()
        times.append((queued if only_queue else time.perf_counter()) - started)
    return times


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


def main(version, workloads, wait=lambda: None):
    """Does what the command line says. workloads: name -> function that prepares it and returns run(units), which
    does so many units. wait() returns when all that was queued is computed; not needed if run() waits itself."""
    name, units, _device = command_line()
    if name not in workloads:
        sys.exit(f"there is no workload {name} here")
    run = workloads[name]()
    repeat(run, units, wait, at_least_s=0.5)
    times = repeat(run, units, wait, at_least_s=1, only_queue=name.endswith("_queued"))
    if sys.stdout is None:
        sys.exit("standard output is closed")
    print(json.dumps({"version": version, "seconds": statistics.median(times) / units}))
