"""What holds for every page without building the site: links lead somewhere, scripts that shells call exist."""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import blocks  # noqa: E402

LINK = re.compile(r"\]\(([^)\s#:]*)(#[^)\s]*)?\)")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "examples/README.md",
         ROOT / "benchmarks/RESULTS.md", ROOT / "docs/site/index.md", *sorted((ROOT / "docs").glob("*.md"))]


def slug(heading):
    """The anchor of a heading, as GitHub and the site make it."""
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return "#" + re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading))


def without_code(text):
    return re.sub(r"^```.*?^```$|<!--.*?-->", "", text, flags=re.M | re.S)


def anchors(page):
    return {slug(found.group(1)) for found in re.finditer(r"^#+ (.*)$", without_code(page.read_text()), re.M)}


class Pages(unittest.TestCase):
    def test_every_link_and_anchor_is_there(self):
        lost, links = [], 0
        for page in PAGES:
            for path, anchor in LINK.findall(re.sub(r"`[^`\n]*`", "", without_code(page.read_text()))):
                target = (page.parent / path).resolve() if path else page
                links += 1
                if not target.exists():
                    lost.append(f"{page.relative_to(ROOT)}: {path}")
                elif anchor and anchor not in anchors(target):
                    lost.append(f"{page.relative_to(ROOT)}: {path}{anchor}")
        self.assertEqual(lost, [])
        self.assertGreater(links, 50)

    def test_blocks_are_of_known_languages_and_close(self):
        for page in PAGES:
            blocks.blocks(page)

    def test_scripts_that_shells_call_exist(self):
        for page in PAGES:
            for block in blocks.blocks(page):
                if block.language in ("sh", ""):
                    for script in re.findall(r"(?<![\w/])(?:scripts|\.ci)/[\w.-]+\w", block.text):
                        self.assertTrue((ROOT / script).exists(), f"{page}:{block.line}: {script}")

    def test_the_package_tests_have_every_line_of_cmake(self):
        """What the page of deployment shows of CMake is what tests/package builds."""
        tested = {line.split(" #")[0].strip() for file in (ROOT / "tests/package").rglob("CMakeLists.txt")
                  for line in file.read_text().split("\n")}
        shown = [line.split(" #")[0].strip() for block in blocks.blocks(ROOT / "docs/deployment.md")
                 if block.language == "cmake" for line in block.text.split("\n")]
        self.assertGreater(len(shown), 8)
        self.assertEqual([line for line in shown if line not in tested], [])

    def test_the_site_lists_every_guide(self):
        listed = (ROOT / "docs/site/index.md").read_text()
        for page in sorted((ROOT / "docs").glob("*.md")):
            self.assertRegex(listed, rf"(?m)(^|<)docs/{page.stem}>?$", page.name)


if __name__ == "__main__":
    unittest.main()
