"""Tests of benchmarks/gpu_results.py with made-up figures."""
import json
import shutil
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import gpu_results  # noqa: E402

BENCHMARKS = {
    "context": {"date": "2030-01-02T03:04:05+00:00"},
    "benchmarks": [
        {"name": "BM_step/tf32/iterations:25", "iterations": 25, "real_time": 7.0, "ratio_median": 1.7321},
        {"name": "BM_copies/iterations:1/real_time", "error_occurred": True, "error_message": "there is no cuda:0"},
    ],
}


def run(name, total_s, bits):
    return {"name": name, "total_s": total_s, "frontend_s": 2e-3, "peak_live_bytes": 3 << 20, "parameters_hash": bits}


TRAINING = {"runs": [run("batch", 1, "aa"), run("none", 4, "aa"), run("batch", 3, "aa"), run("none", 5, "bb")]}


class GpuResults(unittest.TestCase):
    def test_counters_alone_are_reported_and_errors_in_their_place(self):
        rows = gpu_results.benchmark_rows(BENCHMARKS)
        self.assertEqual(rows, [("BM_step/tf32", "ratio_median 1.732"), ("BM_copies", "there is no cuda:0")])

    def test_training_is_reported_by_run_with_every_set_of_parameters(self):
        rows = gpu_results.training_rows(TRAINING)
        self.assertEqual(rows[0], ("batch", "2 s", "2 ms", "3.0 MiB", "aa"))
        self.assertEqual(rows[1], ("none", "4.5 s", "2 ms", "3.0 MiB", "aa, bb"))

    def test_the_part_of_the_results_is_replaced(self):
        root = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, root)
        for folder in ("benchmarks", "results"):
            (root / folder).mkdir()
        shutil.copy(ROOT / "benchmarks" / "RESULTS.md", root / "benchmarks")
        for name, data in (("gpu_bench.json", BENCHMARKS), ("gpu_check.json", TRAINING)):
            (root / "results" / name).write_text(json.dumps(data))
        of_gpu = mock.patch.object(gpu_results.machine, "gpu", lambda device: f"Hot GPU {device}")
        with mock.patch.object(gpu_results, "ROOT", root), of_gpu:
            gpu_results.main()
        text = (root / "benchmarks" / "RESULTS.md").read_text()
        self.assertIn("writes from here -->\n2030-01-02, Hot GPU cuda:0; ", text)
        self.assertIn("| BM_step/tf32 | ratio_median 1.732 |", text)
        self.assertIn("medians of 2 runs:", text)


if __name__ == "__main__":
    unittest.main()
