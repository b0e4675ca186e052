"""Writes what scripts/gpu_check.sh has measured, benchmarks and training on the GPU, into benchmarks/RESULTS.md."""
import json
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks" / "peers"))

import machine  # noqa: E402
import report  # noqa: E402

# The fields that Google Benchmark gives every row; a row's other numbers are its counters.
OF_EVERY_ROW = {"family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads", "iterations"}
OF_EVERY_ROW |= {"real_time", "cpu_time"}


def figure(value):
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"


def counters(row):
    if row.get("error_occurred"):
        return row["error_message"]
    numbers = {name: value for name, value in row.items() if isinstance(value, (int, float))}
    return ", ".join(f"{name} {figure(value)}" for name, value in numbers.items() if name not in OF_EVERY_ROW)


def benchmark_rows(data):
    # "BM_queue_step/graph/iterations:25/manual_time": how it was run is of no interest here.
    return [(row["name"].split("/iterations:")[0], counters(row)) for row in data["benchmarks"]]


def training_rows(data):
    rows = []
    for name in dict.fromkeys(run["name"] for run in data["runs"]):
        runs = [run for run in data["runs"] if run["name"] == name]
        total_s, queued_s = (statistics.median(run[key] for run in runs) for key in ("total_s", "frontend_s"))
        peak_mib = statistics.median(run["peak_live_bytes"] for run in runs) / 2**20
        hashes = ", ".join(sorted({run["parameters_hash"] for run in runs}))
        rows.append((name, report.duration(total_s), report.duration(queued_s), f"{peak_mib:.1f} MiB", hashes))
    return rows


def table(header, rows):
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *rows))


def results(benchmarks, training):
    """The part of RESULTS.md, of what both programs wrote."""
    rows = training_rows(training)
    return f"""{benchmarks["context"]["date"][:10]}, {machine.gpu("cuda:0")}; {machine.processor()}.

{table(("benchmark", "figures"), benchmark_rows(benchmarks))}

Training, 150 batches, medians of {len(training["runs"]) // len(rows)} runs:

{table(("run", "time", "queued in", "peak live", "hash of the parameters"), rows)}"""


def main():
    measured = [ROOT / "results" / name for name in ("gpu_bench.json", "gpu_check.json")]
    text = results(*(json.loads(file.read_text()) for file in measured))
    report.write_part(ROOT / "benchmarks" / "RESULTS.md", "scripts/gpu_check.sh", text)


if __name__ == "__main__":
    main()
