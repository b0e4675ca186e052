"""Tests of blocks.py: what becomes of the blocks of a page."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import blocks  # noqa: E402


class Blocks(unittest.TestCase):
    def page(self, text):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        page = pathlib.Path(folder.name) / "page.md"
        page.write_text(text)
        return page

    def test_joins_a_member_with_the_struct_around_it(self):
        page = self.page("<!--cpp\nstruct S {\n-->\n\n```cpp\nint f() const {\n  return 1;\n}\n```\n\n<!--cpp\n};\n-->\n")
        self.assertEqual([len(unit) for unit in blocks.units(page)], [3])

    def test_statements_stand_in_a_function_and_declarations_outside(self):
        page = self.page("```cpp\nint f(int x) {\n  return x;\n}\n```\n```cpp\nfor (int i = f(3); i > 0; --i) {\n}\n```\n")
        program = blocks.cpp_program(page)
        self.assertLess(program.index("int f("), program.index("static void run"))
        self.assertGreater(program.index("for (int i"), program.index("static void run"))
        self.assertIn(f'#line 2 "{page}"', program)

    def test_a_program_of_its_own_is_called(self):
        program = blocks.cpp_program(self.page("```cpp\n#include <vector>\nint main() {\n  f();\n}\n```\n"))
        self.assertIn("static int main_0() {\n  f();\nreturn 0; }", program)
        self.assertIn("call(main_0, argc, argv)", program)
        self.assertEqual(program.count("int main("), 1)

    def test_refuses_open_braces_and_unknown_languages(self):
        for text in ("```cpp\nif (true) {\n```\n", "```cpp\n}\n```\n", "```pyton\nx\n```\n"):
            with self.assertRaises(SystemExit):
                blocks.units(self.page(text))

    def test_joins_python_but_for_whole_programs(self):
        page = self.page("a\n```python\nx = 1\n```\n```python\nif __name__ == '__main__':\n    pass\n```\n```python\ny = x\n```\n")
        joined, whole = blocks.python_programs(page)
        self.assertEqual(joined.split("\n"), ["", "", "x = 1", "", "", "", "", "", "", "y = x", ""])
        self.assertIn("__main__", whole)


if __name__ == "__main__":
    unittest.main()
