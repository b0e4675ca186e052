"""Tests of scripts/ in a made-up tree whose path has a space, with made-up programs in place of slow ones."""
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Scripts(unittest.TestCase):
    def setUp(self):
        folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        self.tree, self.programs = folder / "a tree", folder / "programs"
        shutil.copytree(ROOT / "scripts", self.tree / "scripts")
        self.programs.mkdir()

    def make_program(self, path, *lines):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(("#!/usr/bin/env bash", *lines)) + "\n")
        path.chmod(0o755)

    def run_script(self, name, *arguments, **environment):
        environment = {**os.environ, "PATH": f"{self.programs}:{os.environ['PATH']}", **environment}
        command = [self.tree / "scripts" / name, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=self.tree)


class Demo(Scripts):
    def setUp(self):
        super().setUp()
        self.make_program(self.tree / "scripts" / "build.sh", 'echo "built $1" >&2')
        (self.tree / "examples").mkdir()
        for name in ("barriers", "digits"):
            shutil.copy(ROOT / "examples" / f"{name}.cpp", self.tree / "examples")
            self.make_program(self.tree / "build" / "release" / name, 'printf "[%s]" "$@"')

    def test_lists_the_demonstrations(self):
        listed = self.run_script("demo.sh").stdout
        self.assertRegex(listed, "^barriers +Waiting for everything, and waiting for one tensor")
        self.assertNotIn("digits", listed)

    def test_builds_and_runs_one_with_its_arguments(self):
        done = self.run_script("demo.sh", "barriers", "--json", "a file")
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("[--json][a file]", "built barriers\n", 0))

    def test_refuses_another_name(self):
        for name in ("digits", "../examples/barriers", "no such thing", ""):
            done = self.run_script("demo.sh", name)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(f"There is no demonstration '{name}'. There are:\nbarriers ", done.stderr)


class Others(Scripts):
    def test_train_runs_in_a_path_with_a_space(self):
        self.make_program(self.tree / "scripts" / "build.sh")
        self.make_program(self.tree / "build" / "release" / "async_training", 'printf "[%s]" "$@"')
        self.assertEqual(self.run_script("train.sh", "--json", "a file").stdout, "[--json][a file]")

    def test_tidy_takes_names_with_a_space(self):
        for program in (self.tree / "scripts" / "setup.sh", self.programs / "cmake"):
            self.make_program(program)
        self.make_program(self.programs / "clang-tidy", 'echo "tidied ${@: -1}"')
        self.assertEqual(self.run_script("tidy.sh", "core/a file.cpp").stdout, "tidied core/a file.cpp\n")

    def test_fuzz_builds_with_the_sanitizers_and_passes_its_arguments_on(self):
        self.make_program(self.tree / "scripts" / "setup.sh")
        self.make_program(self.programs / "cmake", 'echo "cmake $*" >&2')
        self.make_program(self.tree / "build" / "asan" / "tests" / "safetensors_fuzz", 'echo "$@"', "exit 3")
        done = self.run_script("fuzz.sh", "0.5", "7")
        self.assertEqual((done.stdout, done.returncode), ("The seed is 7\n--minutes 0.5 --seed 7\n", 3))
        self.assertIn("cmake --preset asan\n", done.stderr)
        self.assertRegex(self.run_script("fuzz.sh").stdout, r"^The seed is (\d+)\n--minutes 10 --seed \1\n$")
        for arguments in (("x",), ("1", "x"), ("-1",)):
            done = self.run_script("fuzz.sh", *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""))

    def test_docs_refuses_another_option_before_it_builds_anything(self):
        done = self.run_script("docs.sh", "--chek")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("There is no '--chek'", done.stderr)
        self.assertIn("scripts/docs.sh --check", self.run_script("docs.sh", "--help").stdout)

    def test_gpu_check_refuses_an_unknown_part_before_it_runs_any(self):
        done = self.run_script("gpu_check.sh", "build", "../part")
        self.assertEqual((done.returncode, done.stderr), (2, "There is no part ../part.\n"))
        self.assertEqual(list((self.tree / "results").iterdir()), [])


class Setup(Scripts):
    def setUp(self):
        super().setUp()
        if platform.machine() != "x86_64" or not importlib.util.find_spec("pip"):
            self.skipTest("oneDNN's packages are for x86_64, and pip fetches them")
        for program in ("apt-get", "sudo"):  # nothing is installed on this machine
            self.make_program(self.programs / program, "exit 1")
        (self.programs / "python3").symlink_to(sys.executable)
        (self.tree / ".deps").mkdir()
        if (ROOT / ".deps" / "packages").exists():
            (self.tree / ".deps" / "packages").symlink_to(ROOT / ".deps" / "packages")
        self.packages = self.tree / "index"
        self.packages.mkdir()

    def run_setup(self, *arguments):
        return self.run_script("setup.sh", *arguments, PIP_NO_INDEX="1", PIP_FIND_LINKS=self.packages.as_uri())

    def test_another_hash_is_an_error_and_debians_onednn_does_not_hide_it(self):
        (self.packages / "onednn_cpu_gomp-2023.2.0-py3-none-any.whl").write_text("something else")
        done = self.run_setup()
        self.assertEqual(done.returncode, 1)
        self.assertIn("DO NOT MATCH THE HASHES", done.stderr)
        self.assertIn("another hash than scripts/onednn.txt lists, so nothing was installed", done.stderr)
        self.assertNotIn("Debian", done.stderr)
        self.assertFalse((self.tree / ".deps" / "use-system-onednn").exists())
        self.assertEqual([path.name for path in (self.tree / ".deps").iterdir() if path.name != "packages"], [])

    def test_without_a_network_debians_onednn_is_tried(self):
        self.assertIn("trying Debian's older oneDNN instead", self.run_setup().stderr)

    def have_onednn(self):
        private = self.tree / ".deps" / "onednn"
        private.mkdir()
        shutil.copy(self.tree / "scripts" / "onednn.txt", private / "wheels.txt")

    def test_without_a_network_cudas_headers_are_left_out(self):
        self.have_onednn()
        done = self.run_setup()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("CUDA's headers could not be fetched", done.stderr)
        self.assertFalse((self.tree / ".deps" / "cuda").exists())
        again = self.run_setup()
        self.assertEqual((again.returncode, again.stderr), (0, ""))  # it is tried once

    def test_without_pip_cudas_headers_are_left_out(self):
        self.have_onednn()
        (self.programs / "python3").unlink()
        self.make_program(self.programs / "python3", "exit 1")
        done = self.run_script("setup.sh", PIP_NO_INDEX="1")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_cudas_headers_with_another_hash_are_an_error(self):
        self.have_onednn()
        (self.packages / "nvidia_cuda_runtime-13.0.96-py3-none-any.whl").write_text("something else")
        done = self.run_setup()
        self.assertEqual(done.returncode, 1)
        self.assertIn("another hash than scripts/cuda_headers.txt lists, so nothing was installed", done.stderr)
        self.assertFalse((self.tree / ".deps" / "cuda").exists())

    def test_an_old_pack_stays_where_a_new_one_cannot_be_made(self):
        self.have_onednn()
        for program in ("dpkg-query", "dpkg"):
            self.make_program(self.programs / program, "echo /usr/include/fmt")
        self.make_program(self.programs / "tar", "[[ $* != *-z* ]] || { echo half; exit 1; }", "cat >/dev/null")
        (self.tree / "a pack.tar.gz").write_text("old")
        self.assertNotEqual(self.run_setup("--pack", "a pack.tar.gz").returncode, 0)
        self.assertEqual((self.tree / "a pack.tar.gz").read_text(), "old")
        left = [path.name for path in self.tree.iterdir() if path.name.startswith(".pack")]
        self.assertEqual(left, [])


if __name__ == "__main__":
    unittest.main()
