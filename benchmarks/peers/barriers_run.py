"""Trains a network of networks.py on asyncgrad, and prints its figures as JSON: NAME WORKERS BARRIER.

BARRIER is `none`, where all steps are queued before the wait, or `in-flight:1`, where each is waited for.
"""
import json
import sys
import time

import asyncgrad as ag
import networks
import stopwatch
from system_asyncgrad import System

MEASURED_S = 5


def seconds_of(run, steps, waits):
    started = time.perf_counter()
    for _ in range(steps):
        run(1)
        if waits:
            ag.wait_all()
    ag.wait_all()
    return (time.perf_counter() - started) / steps


def main():
    name, workers, barrier = sys.argv[1:]
    ag.set_engine_options(workers=int(workers))
    run, waits = networks.workloads(System)[name](), barrier != "none"
    ag.wait_all()
    growth = stopwatch.ResidentGrowth()
    seconds_of(run, 1, waits)
    steps = max(5, int(MEASURED_S / seconds_of(run, 1, waits)))
    figures = {"seconds": seconds_of(run, steps, waits), "growth_bytes": growth.peak_bytes()}
    print(json.dumps({"version": ag.__version__} | figures | run.figures()))


if __name__ == "__main__":
    main()
