"""The Python blocks of the pages in docs/ run, in the order of their page."""
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

import asyncgrad as ag

ROOT = pathlib.Path(__file__).parents[2]


def blocks():
    """tests/docs/blocks.py, which knows what a page's blocks are."""
    spec = importlib.util.spec_from_file_location("blocks", ROOT / "tests" / "docs" / "blocks.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


BLOCKS = blocks()
DOCS = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "docs/site/index.md", ROOT / "python/README.md"]
PAGES = [page for page in DOCS if BLOCKS.python_programs(page)]


def run(program, folder):
    file = folder / "guide.py"
    file.write_text(program)
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, cwd=folder, timeout=120,
                          env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout


def test_there_are_pages():
    assert {"python", "own_optimizer", "serving", "data"} <= {page.stem for page in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_the_blocks_of_a_page_run(page, tmp_path):
    short = [program.replace("range(150)", "range(3)") for program in BLOCKS.python_programs(page)]
    outputs = [run(program, tmp_path) for program in short]
    if page.stem == "python":
        assert outputs[0].startswith("(1000, 1000)\n[") and "guide.py" in outputs[0] and (tmp_path / "trace.json").exists()
        assert "All 7 runs ended with the same parameters, bit for bit." in outputs[1]


def test_pages_name_what_there_is():
    names = {name for page in DOCS for name in re.findall(r"\bag\.([A-Za-z_][\w.]*)", page.read_text())}
    assert len(names) > 50
    missing = []
    for name in sorted(names):
        thing = ag
        for part in name.rstrip(".").split("."):
            thing = getattr(thing, part, None)
        if thing is None:
            missing.append(name)
    assert missing == []
