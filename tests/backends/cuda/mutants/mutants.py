#!/usr/bin/env python3
"""Puts faults into a copy of the CUDA backend, one at a time, and checks that a test sees each: by values, by a
sanitizer or by the emulator. Prints what has seen it; the status is 0 if all were seen.

    mutants.py [WORD...]     faults whose names have one of these words; by default all

The copy is build/mutants below the tree. A fault may cost the time to compile every kernel.
"""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from faults import FAULTS

ROOT = Path(__file__).resolve().parents[4]
COPY = ROOT / "build" / "mutants"
SIGNS = re.compile(r"emulator: .*|SUMMARY: .*|.*runtime error: .*|\[  FAILED  \] .*|.*terminate called.*")


def make_copy():
    """Copies the tracked files as they are, and keeps what was built of them before."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout.split(b"\0")
    for name in filter(None, names):
        source, target = ROOT / os.fsdecode(name), COPY / os.fsdecode(name)
        if not source.exists() and not source.is_symlink():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            target.unlink(missing_ok=True)
            target.symlink_to(os.readlink(source))
        elif not target.exists() or target.read_bytes() != source.read_bytes():
            shutil.copy(source, target)
    kept = {os.fsdecode(name) for name in names}
    for path in COPY.rglob("*") if COPY.exists() else ():
        relative = path.relative_to(COPY)
        if relative.parts[0] not in ("build", ".deps") and not path.is_dir() and str(relative) not in kept:
            path.unlink()  # a file of an earlier tree
    (COPY / ".deps").unlink(missing_ok=True)
    (COPY / ".deps").symlink_to(ROOT / ".deps")


def build(preset):
    """Returns an empty text, or what the compiler says."""
    for command in (["cmake", "--preset", preset],
                    ["cmake", "--build", f"build/{preset}", "--target", "cuda_tests", "--", "--quiet"]):
        done = subprocess.run(command, cwd=COPY, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            return done.stdout + done.stderr
    return ""


def failure_of(preset, tests, timeout_s=None):
    """Runs tests. Returns what has failed, or None."""
    environment = {**os.environ, "TSAN_OPTIONS": f"suppressions={COPY}/cmake/tsan.supp halt_on_error=1"}
    command = [COPY / "build" / preset / "tests" / "backends" / "cuda" / "cuda_tests", f"--gtest_filter={tests}"]
    try:
        done = subprocess.run(command, check=False, capture_output=True, timeout=timeout_s, env=environment)
    except subprocess.TimeoutExpired:
        return "it does not end"
    if done.returncode == 0:
        return None
    sign = SIGNS.search((done.stdout + done.stderr).decode(errors="replace"))
    return sign.group() if sign else f"status {done.returncode}"


def seen_by(fault):
    """Returns what sees the fault, or None."""
    file = COPY / "backends" / "cuda" / fault.file
    original = file.read_text()
    if original.count(fault.old) != 1:
        return None
    file.write_text(original.replace(fault.old, fault.new))
    try:
        complaint = build(fault.preset)
        return None if complaint else failure_of(fault.preset, fault.tests, timeout_s=300)
    finally:
        file.write_text(original)


def main(words):
    faults = [fault for fault in FAULTS if not words or any(word in fault.name for word in words)]
    make_copy()
    unseen = []
    for preset in sorted({fault.preset for fault in faults}):
        chosen = [fault for fault in faults if fault.preset == preset]
        if complaint := build(preset):
            sys.exit(complaint)
        if failed := failure_of(preset, ":".join(dict.fromkeys(fault.tests for fault in chosen))):
            sys.exit(f"The tests fail without a fault, {preset}: {failed}")
        for fault in chosen:
            sign = seen_by(fault)
            if sign is None:
                unseen.append(fault.name)
            print(f"{fault.name} ({preset}): {(sign or 'NOT SEEN')[:120]}", flush=True)
    print(f"{len(faults) - len(unseen)} of {len(faults)} faults were seen" + "".join(f"\nNot seen: {name}" for name in unseen))
    return 1 if unseen or not faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
