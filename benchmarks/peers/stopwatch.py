"""How a system in Python is timed; stopwatch.h does the same in C++.

A system is a program that takes a work's name and a number of units, warms up, and prints one line of JSON: its version,
and the seconds of one unit, as the median over repetitions of so many units.
"""
import json
import statistics
import sys
import time


def repeat(run, units, at_least_s):
    times = []
    while len(times) < 3 or sum(times) < at_least_s:
        started = time.perf_counter()
        run(units)
        times.append(time.perf_counter() - started)
    return times


def increments(zeros, wait, each=False):
    """The works `increments_*`: zeros() makes the tensor; wait(y) returns when it is computed, called after every
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


def main(version, works):
    """Does what the command line says. works: name -> function that prepares the work and returns run(units), which
    does so many units and returns when all are computed."""
    name, units = sys.argv[1], int(sys.argv[2])
    if name not in works:
        sys.exit(f"there is no work {name} here")
    run = works[name]()
    repeat(run, units, at_least_s=0.5)
    times = repeat(run, units, at_least_s=1)
    print(json.dumps({"version": version, "seconds": statistics.median(times) / units}))
