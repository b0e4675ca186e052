"""The programs of docs/python.md run, in the order of the page."""
import os
import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "python.md"


def test_the_guide_runs(tmp_path):
    programs = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    assert len(programs) == 7
    whole = [program for program in programs if "__main__" in program]  # other processes import these
    outputs = []
    for program in ["\n".join(program for program in programs if program not in whole), *whole]:
        file = tmp_path / "guide.py"
        file.write_text(program)
        done = subprocess.run([sys.executable, file], capture_output=True, text=True, cwd=tmp_path, timeout=120,
                              env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        assert done.returncode == 0 and done.stderr == "", done.stderr
        outputs.append(done.stdout)
    assert "All 7 runs ended with the same parameters, bit for bit." in outputs[1]
    assert outputs[0].startswith("(1000, 1000)\n[") and "guide.py" in outputs[0] and (tmp_path / "trace.json").exists()
