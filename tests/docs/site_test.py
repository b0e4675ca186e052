"""Tests of what makes and checks the site: prose of comments, and the links of built pages."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(ROOT / "docs" / "site")]
import links  # noqa: E402
import prose  # noqa: E402


class Prose(unittest.TestCase):
    def test_nothing_but_code_is_markup(self):
        self.assertEqual(prose.inline("x * y of `a_b` and end_ |z|"), "x \\* y of ``a_b`` and end\\_ \\|z\\|")

    def test_indented_lines_are_code_and_dashes_are_lists(self):
        text = prose.rst("About:\n\n  f(x);\n    g(y);\n\n- one\n  more\n- two", "cpp")
        self.assertIn(".. code-block:: cpp\n\n   f(x);\n     g(y);\n", text)
        self.assertIn("- one more\n- two\n", text)

    def test_a_comments_heading_is_bold(self):
        self.assertEqual(prose.rst("--- Blocking. ---\nEach waits.", "cpp"), "**Blocking**\n\nEach waits.\n\n")


class Links(unittest.TestCase):
    def check(self, **pages):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        site = pathlib.Path(folder.name)
        for name, text in pages.items():
            (site / f"{name}.html").write_text(text)
        return links.check(site)

    def test_finds_nothing_in_a_site_that_is_whole(self):
        wrong, count = self.check(a='<h1 id="top"></h1><a href="b.html#end">b</a><a href="#top">a</a>', b='<p id="end"></p>')
        self.assertEqual((wrong, count), ([], 2))

    def test_finds_lost_files_and_anchors_and_what_comes_from_elsewhere(self):
        wrong, _ = self.check(a='<a href="c.html">c</a><a href="b.html#end">b</a><script src="https://example.org/x.js"></script>',
                              b='<a href="https://example.org">a reader follows it</a>')
        self.assertEqual(sorted(wrong), ["a.html: b.html#end has no such anchor", "a.html: c.html leads nowhere",
                                         "a.html: https://example.org/x.js comes from elsewhere"])


if __name__ == "__main__":
    unittest.main()
