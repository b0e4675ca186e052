"""Compares budgets below the serial peak with PyTorch's checkpoints, and prints a table for docs/memory_budget.md.

For each network and budget it prints asyncgrad's time over that without a budget, and that of PyTorch with the number of
checkpointed segments that is fastest among those whose resident set grows no more than asyncgrad's. For half of the serial
peak it prints the time of the fewest blocks that nn.recompute has to compute again, too.
"""
import json
import subprocess
import sys

import systems

SHARES = [0.67, 0.5, 0.33]
SEGMENTS = {"residual_mlp": [1, 2, 4, 8, 16], "gpt": [1, 2, 3, 6]}
BLOCKS = {"residual_mlp": range(10, 17), "gpt": range(3, 7)}  # that may be enough for half of the serial peak


def run(system, network, number):
    python = systems.environment("pytorch") if system == "pytorch" else sys.executable
    done = subprocess.run([python, systems.HERE / "budgets_run.py", system, network, str(number)], capture_output=True,
                          text=True, check=True)
    return json.loads(done.stdout)


def mebibytes(figures):
    return f"{figures['growth_bytes'] / 2**20:.0f} MiB"


def main():
    print("| network | budget | asyncgrad, growth of RSS | time over none | PyTorch's segments, growth of RSS | "
          "time over none | asyncgrad over PyTorch |")
    print("|---|---|---|---|---|---|---|")
    for network in sys.argv[1:] or list(SEGMENTS):
        ours, theirs = run("asyncgrad", network, 0), run("pytorch", network, 0)
        with_segments = {segments: run("pytorch", network, segments) for segments in SEGMENTS[network]}
        for share in SHARES:
            within = run("asyncgrad", network, share)
            fitting = {segments: figures for segments, figures in with_segments.items()
                       if figures["growth_bytes"] <= within["growth_bytes"]}
            segments = min(fitting, key=lambda number: fitting[number]["seconds"], default=None)
            peer = "none fits | | " if segments is None else (
                f"{segments}, {mebibytes(fitting[segments])} | {fitting[segments]['seconds'] / theirs['seconds']:.2f} | "
                f"{within['seconds'] / fitting[segments]['seconds']:.2f}")
            print(f"| {network} | {share:.0%} | {mebibytes(within)} | {within['seconds'] / ours['seconds']:.2f} | {peer} |",
                  flush=True)
        half = next((figures for count in BLOCKS[network]
                     if (figures := run("by_hand", network, count))["serial_peak_bytes"] <= ours["serial_peak_bytes"] / 2), None)
        by_hand = "does not fit" if half is None else f"{half['seconds'] / ours['seconds']:.2f}"
        print(f"| {network} | 50%, by nn.recompute | | {by_hand} | | | |")
        print(f"| {network} | none | {mebibytes(ours)} | 1 | none, {mebibytes(theirs)} | 1 | "
              f"{ours['seconds'] / theirs['seconds']:.2f} |", flush=True)


if __name__ == "__main__":
    main()
