"""The notebook docs/chapter.ipynb runs from its first cell to its last, at a small size."""
import json
import os
import pathlib
import subprocess
import sys

CHAPTER = pathlib.Path(__file__).parents[2] / "docs" / "chapter.ipynb"

RUN = """
import sys
import nbclient, nbformat

notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
"""


def test_the_notebook_runs(tmp_path):
    done = subprocess.run([sys.executable, "-c", RUN, str(CHAPTER)], capture_output=True, text=True, cwd=tmp_path,
                          env={**os.environ, "CHAPTER_SIZE": "32", "IPYTHONDIR": str(tmp_path)})
    assert done.returncode == 0, done.stderr


def test_its_code_runs_without_a_notebook(tmp_path):
    cells = [cell for cell in json.loads(CHAPTER.read_text())["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 5 and all(cell["outputs"] or "print" not in "".join(cell["source"]) for cell in cells)
    program = tmp_path / "chapter.py"
    program.write_text("\n".join("".join(cell["source"]) for cell in cells))
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, cwd=tmp_path,
                          env={**os.environ, "CHAPTER_SIZE": "32"})
    assert done.returncode == 0 and done.stdout.count("budget") == 4, done.stderr
