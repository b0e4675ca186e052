"""Compares trainings on two processes: asyncgrad's with one process, and with PyTorch's DistributedDataParallel.

    python3 benchmarks/peers/dist_compare.py [--build build/release] [--rounds 5] [--no-pytorch]

Needs a build with -DASYNCGRAD_MPI=ON and its target dist_steps, an mpiexec, and two idle cores. Each round runs all programs one
after the other; the figures are medians over the rounds, with the smallest and the largest ratio.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys

import systems


def output_of(command):
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    run = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=environment)
    if run.returncode:
        sys.exit(f"{command} failed:\n{run.stdout}{run.stderr}")
    return json.loads(next(line for line in run.stdout.splitlines() if line.startswith("{")))


def figures_of(command, rounds):
    """Each figure's values over the rounds."""
    runs = [output_of(command) for _ in range(rounds)]
    return {key: [run[key] for run in runs] for key in runs[0]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=systems.ROOT / "build" / "release")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-pytorch", action="store_true", help="leave PyTorch out")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds is 1 at least")
    mpiexec = next(filter(None, map(shutil.which, ("mpiexec.mpich", "mpiexec.openmpi", "mpiexec"))), None)
    mpiexec = mpiexec or systems.ROOT / ".deps" / "mpi" / "mpich" / "bin" / "mpiexec"
    steps = os.path.join(options.build, "dist_steps")
    two_ranks = [mpiexec, "-n", 2, steps]
    pytorch = None if options.no_pytorch else [systems.environment("pytorch"), systems.HERE / "dist_pytorch.py"]
    commands = {"one process": [steps, "chapter", "--workers", 2], "two ranks": [*two_ranks, "chapter", "--workers", 1]}
    commands |= {f"{name} in parts": [*command, "--parts", 8] for name, command in commands.items()}
    results = {name: [] for name in [*commands, "PyTorch"]}
    for number in range(options.rounds):
        for name, command in commands.items():
            results[name].append(output_of(command))
        if pytorch:
            results["PyTorch"].append(output_of([*pytorch, 29500 + number]))
    # One process has two workers, and each rank one. PyTorch: its DistributedDataParallel over gloo, two processes.
    for name, other in (("two ranks", "one process"), ("two ranks in parts", "one process in parts"), ("two ranks", "PyTorch")):
        ratios = [mine["step_s"] / its["step_s"] for mine, its in zip(results[name], results[other])]
        if ratios:
            print(f"chapter's step, {name} over {other}: {statistics.median(ratios):.2f} "
                  f"({min(ratios):.2f} to {max(ratios):.2f})")
    for name, runs in results.items():
        if runs:
            print(f"  {name}: {statistics.median(run['step_s'] for run in runs) * 1e3:.1f} ms")
    # A link over which the communication takes half as long as the computing of one process alone.
    medians = lambda *command: {key: statistics.median(values) for key, values in figures_of(command, options.rounds).items()}
    alone, free = medians(steps, "mlp", "--workers", 1), medians(*two_ranks, "mlp", "--workers", 1)
    received_bytes = 15 * 512 * 513 * 4  # by each of two ranks: half of the gradients, and half of the sums
    rate = received_bytes / (alone["step_s"] / 2)
    linked = medians(*two_ranks, "mlp", "--workers", 1, "--bytes-per-second", rate)
    print(f"MLP 16 x 512 over {rate / 1e6:.0f} MB/s: hidden {linked['hidden_share']:.0%}, of {linked['moving_s'] * 1e3:.1f} ms "
          f"in a step of {linked['step_s'] * 1e3:.1f} ms (without the link {free['hidden_share']:.0%} of {free['moving_s'] * 1e3:.1f} "
          f"in {free['step_s'] * 1e3:.1f} ms; computing alone {alone['step_s'] * 1e3:.1f} ms)")


main()
