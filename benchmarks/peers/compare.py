"""Runs the same works on asyncgrad and on its peers in turn, and reports ratios; scripts/compare.sh calls it.

A round runs every work once on every system that does it, asyncgrad first, each in a process of its own. A ratio is asyncgrad's time
over the peer's in the same round.
"""
import argparse
import json
import subprocess
import sys
from pathlib import Path

import machine
import report
import systems
from works import WORKS, does

RUN_LIMIT_S = 300


def options(arguments=None):
    parser = argparse.ArgumentParser(
        prog="scripts/compare.sh",
        description="Runs the same works on asyncgrad and on PyTorch (from Python and from C++), JAX, MXNet and numpy in "
        "turn, and prints the ratios of their times. A complete run also writes benchmarks/RESULTS.md.",
    )
    parser.add_argument("--rounds", metavar="N", type=int, default=5, help="of all works on all systems (default 5)")
    for name, known in (("work", WORKS), ("peer", systems.PEERS)):
        only = f"this {name} only, may be repeated: {', '.join(known)}"
        parser.add_argument(f"--{name}", metavar="NAME", action="append", choices=known, help=only)
    json_default = systems.ROOT / "results" / "compare.json"
    parser.add_argument("--json", metavar="FILE", type=Path, default=json_default, help="where all figures go")
    chosen = parser.parse_args(arguments)
    if chosen.rounds < 1:
        parser.error("--rounds wants at least 1")
    chosen.complete = not chosen.work and not chosen.peer and chosen.rounds >= 5
    chosen.work = chosen.work or list(WORKS)
    chosen.peer = chosen.peer or list(systems.PEERS)
    return chosen


def make_ready(peers):
    """Commands of those that can take part, and why the others cannot."""
    commands, absent = {}, {}
    for name in peers:
        try:
            commands[name] = systems.PEERS[name]()
        except systems.Unavailable as reason:
            absent[name] = str(reason)
            print(f"{name} {reason}", file=sys.stderr)
    return commands, absent


def run_work(command, work):
    """What the system prints: its version and the seconds of a unit, or else why it failed."""
    try:
        done = subprocess.run(
            [*command, work, str(WORKS[work].units)], capture_output=True, text=True, check=False, timeout=RUN_LIMIT_S
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"took more than {RUN_LIMIT_S} s"}
    return {"failed": systems.last_line(done.stderr)} if done.returncode else json.loads(done.stdout)


def measure(commands, works, rounds):
    """Runs all in turn. Returns runs[work][system], a list of what run_work returned; a failure ends a list."""
    runs = {work: {system: [] for system in commands if does(system, work)} for work in works}
    for number in range(1, rounds + 1):
        for work in works:
            print(f"Round {number} of {rounds}: {work}", file=sys.stderr)
            for system, done in runs[work].items():
                if not done or "failed" not in done[-1]:
                    done.append(run_work(commands[system], work))
    return runs


def main():
    chosen = options()
    commands, absent = make_ready(chosen.peer)
    with machine.Observed() as observed:
        runs = measure({"asyncgrad": systems.ASYNCGRAD, **commands}, chosen.work, chosen.rounds)
    figures = report.figures(runs, absent, observed)
    print(report.table(figures))
    chosen.json.parent.mkdir(parents=True, exist_ok=True)
    chosen.json.write_text(json.dumps(figures, indent=1) + "\n")
    print(f"\nAll figures are in {chosen.json}.")
    if any("failed" in of_system["asyncgrad"][-1] for of_system in runs.values()):
        sys.exit("asyncgrad itself failed.")
    if chosen.complete:
        report.write_results(systems.ROOT / "benchmarks" / "RESULTS.md", figures)
        print("benchmarks/RESULTS.md is written anew.")


if __name__ == "__main__":
    main()
