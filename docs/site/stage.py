"""Fills a folder with the sources of the site: the pages of the tree, those of the API, and the programs that pages name.

stage.py FOLDER. The Python package must be in the path. A link that leads nowhere is an error.
"""
import json
import os
import pathlib
import re
import shutil
import sys

import api_cpp
import api_python
from prose import rst

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = pathlib.Path(__file__).resolve().parent
PAGES = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "examples/README.md", "examples/data/README.md", "benchmarks/RESULTS.md"]
LINK = re.compile(r"(\]\()([^)\s#:]+)(#[^)\s]*)?(\))")
LANGUAGES = {".cpp": "cpp", ".h": "cpp", ".cu": "cpp", ".py": "python", ".sh": "bash", ".cmake": "cmake", ".json": "json"}
FENCE = re.compile(r"^(```.*?\n.*?^```\n)", re.M | re.S)
HIDDEN = re.compile(r"^<!--(?:cpp|python)\n.*?^-->\n\n?", re.M | re.S)  # what the tests of the pages need


def pages():
    """The pages, by their paths in the tree."""
    found = [name for name in PAGES if (ROOT / name).exists()]
    return found + sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md"))


class Stage:
    def __init__(self, folder):
        self.folder = folder
        self.pages = pages()
        self.headers = api_cpp.public_headers()
        self.programs = set()
        self.lost = []

    def write(self, name, text):
        place = self.folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def target(self, page, link):
        """Where a link of a page leads in the site."""
        path = os.path.normpath(os.path.join(os.path.dirname(page), link))
        place = ROOT / path
        if place.is_dir():
            path += "/README.md"
        if path in self.pages:
            return path
        if path in self.headers:
            return f"cpp/{path.removesuffix('.h')}.rst"
        if path.endswith(".ipynb") and place.exists():
            self.notebook(path)
            return path.replace(".ipynb", ".md")
        if place.suffix in (".svg", ".png") and place.exists():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(place, self.folder / path)
            return path
        if place.is_file():
            self.programs.add(path)
            return f"source/{path}.rst"
        self.lost.append(f"{page}: {link}")
        return path

    def page(self, name, text, source=None):
        """A page of the site; its links are those of `source` in the tree."""
        def lead(found):
            place = os.path.relpath(self.target(source or name, found.group(2)), os.path.dirname(name) or ".")
            return found.group(1) + place + (found.group(3) or "") + found.group(4)

        parts = FENCE.split(HIDDEN.sub("", text))  # code is left alone
        parts[::2] = [LINK.sub(lead, part) for part in parts[::2]]
        self.write(name, "".join(parts))

    def notebook(self, name):
        """A page with the cells of a notebook, and what they printed."""
        text = ""
        for cell in json.loads((ROOT / name).read_text())["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                text += source + "\n\n"
                continue
            text += f"```python\n{source}\n```\n\n"
            for output in cell["outputs"]:
                printed = "".join(output.get("text", "")) or "".join(output.get("data", {}).get("text/plain", ""))
                picture = output.get("data", {}).get("image/svg+xml")
                if picture:
                    text += "".join(picture) + "\n\n"
                elif printed:
                    text += f"```text\n{printed.rstrip()}\n```\n\n"
        self.page(name.replace(".ipynb", ".md"), text)

    def program(self, name):
        text = (ROOT / name).read_text()
        head = f"{'=' * len(name)}\n"
        body = "".join(f"   {line}\n" if line else "\n" for line in text.rstrip().split("\n"))
        self.write(f"source/{name}.rst", f":orphan:\n\n{name}\n{head}\n.. code-block:: "
                                         f"{LANGUAGES.get(pathlib.Path(name).suffix, 'none')}\n\n{body}")

    def api(self):
        rows = api_cpp.write_pages(self.folder / "cpp")
        groups = {}
        for name, about in rows:
            groups.setdefault(name.split("/")[0] if "/" in name else "", []).append((name, about))
        text = "C++: every public header\n========================\n\n" + rst(
            "Every header that `asyncgrad.h` and `experiment.h` include, with its comments. Each call has one more parameter, "
            "`Location where`, which comes last and is left out here: it names the caller's line in messages. The names are "
            "in the namespace `asyncgrad`, which programs call `ag`.", "cpp")
        for group, members in groups.items():
            title = f"{group}/" if group else "Everything"
            text += f"{title}\n{'-' * len(title)}\n\n"
            for name, about in members:
                text += f":doc:`{name} <{name.removesuffix('.h')}>`\n" + rst(about, "cpp", "   ")
            text += ".. toctree::\n   :hidden:\n\n" + "".join(
                f"   {name} <{name.removesuffix('.h')}>\n" for name, _ in members) + "\n"
        self.write("cpp/index.rst", text)
        rows = api_python.write_pages(self.folder / "python")
        text = "Python: every public module\n===========================\n\n"
        for name, about in rows:
            text += f":doc:`{name} <{name}>`\n" + rst(about, "python", "   ")
        self.write("python/index.rst", text + ".. toctree::\n   :hidden:\n\n" + "".join(f"   {name.removeprefix('asyncgrad.')} <{name}>\n" for name, _ in rows))

    def run(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        listed = (SITE / "index.md").read_text()
        for name in self.pages:
            text = (ROOT / name).read_text()
            in_menu = re.search(rf"(^|<){re.escape(name.removesuffix('.md'))}>?$", listed, re.M)
            self.page(name, text if in_menu else f"---\norphan: true\n---\n\n{text}")
        self.page("index.md", (SITE / "index.md").read_text(), "docs/site/index.md")
        for program in sorted((ROOT / "examples").glob("*.cpp")):
            self.programs.add(f"examples/{program.name}")
        for name in sorted(self.programs):
            self.program(name)
        self.api()
        if self.lost:
            raise SystemExit("Links that lead nowhere:\n  " + "\n  ".join(self.lost))


if __name__ == "__main__":
    Stage(pathlib.Path(sys.argv[1])).run()
