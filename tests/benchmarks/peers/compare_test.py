"""Tests of benchmarks/peers/compare.py with made-up systems."""
import shutil
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "benchmarks" / "peers"))

import compare  # noqa: E402
import report  # noqa: E402
import systems  # noqa: E402

OBSERVED = types.SimpleNamespace(date="2030-01-02", processor="Slow, 1 core", others=0.25)


def took(*seconds):
    return [{"version": "1.0", "seconds": s} for s in seconds]


class Compare(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def system(self, name, body='print(\'{"version": "1.0", "seconds": 2}\')'):
        """A system that writes down each time it is run, then does the body."""
        program = self.folder / f"{name}.py"
        program.write_text(f"import sys\nopen({str(self.folder / 'log')!r}, 'a').write({name!r} + ' ')\n{body}\n")
        return [sys.executable, program]

    def log(self):
        return (self.folder / "log").read_text().split()

    def test_systems_run_in_turn(self):
        commands = {"asyncgrad": self.system("ours"), "peer": self.system("theirs")}
        runs = compare.measure(commands, ["randn"], 3)
        self.assertEqual(self.log(), ["ours", "theirs"] * 3)
        self.assertEqual(runs["randn"]["peer"], took(2, 2, 2))

    def test_a_system_is_asked_for_what_it_does(self):
        commands = {"asyncgrad": self.system("ours"), "numpy": self.system("numpy")}
        runs = compare.measure(commands, ["tiny_mlp_step", "product_64"], 1)
        self.assertEqual(self.log(), ["ours", "ours", "numpy"])
        self.assertEqual(list(runs["tiny_mlp_step"]), ["asyncgrad"])

    def test_a_system_is_given_the_work_and_its_units(self):
        command = self.system("ours", "sys.exit(' '.join(sys.argv[1:]))")
        self.assertEqual(compare.run_work(command, "tiny_mlp_step"), {"failed": "tiny_mlp_step 1000"})

    def test_a_failed_work_is_a_row_and_is_not_tried_again(self):
        broken = self.system("broken", "raise ValueError('no such device')")
        runs = compare.measure({"asyncgrad": self.system("ours"), "peer": broken}, ["randn"], 3)
        self.assertEqual(self.log().count("broken"), 1)
        table = report.table(report.figures(runs, {}, OBSERVED))
        self.assertIn("the peer failed: ValueError: no such device", table)

    def test_ratios_are_of_the_same_round(self):
        row = report.paired(took(1, 8, 3), took(2, 4, 12))
        self.assertEqual((row["ratio_median"], row["ratio_min"], row["ratio_max"]), (0.5, 0.25, 2))
        self.assertEqual((row["asyncgrad_s"], row["peer_s"]), (3, 4))

    def test_a_peer_that_cannot_be_installed_is_a_row(self):
        (self.folder / "ghost.txt").write_text(f"{self.folder}/ghost-1.0-py3-none-any.whl\n")
        places = mock.patch.multiple(systems, HERE=self.folder, ENVIRONMENTS=self.folder / "environments")
        with places, mock.patch.dict(systems.PEERS, ghost=lambda: systems.python_peer("ghost")):
            commands, absent = compare.make_ready(["ghost"])
        self.assertEqual(commands, {})
        table = report.table(report.figures({"randn": {"asyncgrad": took(1)}}, absent, OBSERVED))
        self.assertRegex(table, r"\| all +\| ghost .*could not be installed: ")

    def test_only_the_generated_part_of_the_results_is_replaced(self):
        path = self.folder / "RESULTS.md"
        shutil.copy(ROOT / "benchmarks" / "RESULTS.md", path)
        introduction = path.read_text().split(report.BEGIN)[0]
        for seconds in (4, 5):
            runs = {"randn": {"asyncgrad": took(1), "peer": took(seconds)}}
            report.write_results(path, report.figures(runs, {}, OBSERVED))
        text = path.read_text()
        self.assertTrue(text.startswith(introduction))
        self.assertIn("2030-01-02, Slow, 1 core. Other processes took 25% of the cores", text)
        self.assertRegex(text, r"\| randn \| peer \| 1 s +\| 5 s +\| 0.20 +\| 0.20 – 0.20 +\|")
        self.assertNotIn("0.25 – 0.25", text)


if __name__ == "__main__":
    unittest.main()
