"""Tests of scripts/memory.py: what it reads from a trace, and the page that it writes of two networks, which it measures."""
import importlib.util
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "memory.py"

specification = importlib.util.spec_from_file_location("memory", SCRIPT)
memory = importlib.util.module_from_spec(specification)
specification.loader.exec_module(memory)


def operation(number, name, started_us, ended_us, operands):
    arguments = {"number": number, "operands": operands, "dtype": "float32", "queued_at": "net.cpp:1", "started_us": started_us,
                 "ended_us": ended_us}
    return {"cat": "operation", "name": name, "args": arguments}


class Early(unittest.TestCase):
    def test_bytes_are_those_of_all_results(self):
        self.assertEqual(memory.result_bytes({"operands": "to (2, 3), to (), (64, 64)", "dtype": "float32"}), 4 * 7)
        self.assertEqual(memory.result_bytes({"operands": "to (5), (5)", "dtype": "int64"}), 8 * 5)

    def test_only_what_is_more_than_a_batch_ahead_is_early(self):
        # Three batches of a draw and a product. The products are computed one after the other; the draws at once.
        events = []
        for batch in range(3):
            events.append(operation(2 * batch, "normal", 0, 1, "to (10)"))
            events.append(operation(2 * batch + 1, "matmul", 10 * batch + 1, 10 * batch + 11, "to (20), (10)"))
        early = memory.early_operations(events[::-1], 3)
        self.assertEqual(early, [{"name": "normal", "queued_at": "net.cpp:1", "shapes": "(10)", "times": 1, "bytes": 40}])


class Page(unittest.TestCase):
    def run_script(self, *arguments):
        return subprocess.run([sys.executable, "-B", SCRIPT, *map(str, arguments)], capture_output=True, text=True, check=False)

    def test_is_made_of_what_was_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            page, results = Path(folder) / "page.md", Path(folder) / "results"
            where = ("--networks", "lenet,seq2seq", "--page", page, "--results", results)
            done = self.run_script(*where, "--batches", 20, "--programs", PROGRAMS)
            self.assertEqual(done.returncode, 0, done.stderr)
            text = page.read_text()
            for name, early in (("lenet", "| `matmul` | (1792, 28) | digits_data.cpp:"), ("seq2seq", "| `fill` | (128, 128) |")):
                self.assertIn(f"\n## {name}\n", text)
                self.assertIn(early, text)
                self.assertIn(f"(page/{name}.svg)", text)
            sentences = " ".join(text.split())
            self.assertEqual(sentences.count("20 batches a run; all 7 runs ended with the same parameters"), 2)
            self.assertIn("The queue has room for 4,096 operations.", sentences)
            self.assertIn("`lenet` takes ", sentences)
            page.unlink()
            self.assertEqual(self.run_script(*where, "--write").returncode, 0)
            self.assertEqual(page.read_text(), text)

    def test_bad_options_are_refused(self):
        for arguments in (("--networks", "lenet,nine"), ("--batches", 19), ("--repeat", 0), ("--bogus",)):
            done = self.run_script(*arguments)
            self.assertEqual(done.returncode, 2)
            self.assertIn("usage: scripts/memory.sh", done.stderr)


if __name__ == "__main__":
    PROGRAMS = sys.argv.pop(1)  # the folder of the examples
    unittest.main()
