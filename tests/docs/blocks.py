"""The blocks of code of a page, and the one program that runs those of a language.

A page has blocks between ``` fences. What a block needs but a reader does not stands in a comment, which pages do not show:

    <!--cpp
    ag::Tensor x = ag::randn({2, 3});
    -->

Blocks see what stands above them. Blocks and comments whose braces are open go on in the next one: a comment may hold the
beginning of a struct, of which the page shows a member.
"""
import dataclasses
import pathlib
import re
import sys

# What a page may have: what is run, what is shown of files and shells, and what programs print (without a language).
RUN = {"cpp", "python"}
SHOWN = {"sh", "cmake", "text", "json", ""}
FENCE = re.compile(r"^(?:```(?P<language>\S*)\n(?P<shown>.*?)^```$|<!--(?P<hidden_language>cpp|python)\n(?P<hidden>.*?)^-->$)",
                   re.M | re.S)
# At the beginning of a line: what belongs outside of functions.
DECLARES = re.compile(r"^(namespace |struct |class |template|using namespace|(static |inline )?[\w:<>,&* ]+[ &*]\w+\([^;]*\) "
                      r"(const |noexcept )*\{)", re.M)
HEAD = re.compile(r"^(#include .*|namespace ag = .*)\n", re.M)  # what every page has in common, or stands at the top
CONTROL = re.compile(r"^(if|for|while|do|switch|else|try|return)\b")
MAIN = re.compile(r"^int main\((.*?)^\}", re.M | re.S)


@dataclasses.dataclass
class Block:
    language: str
    text: str
    line: int  # of its first line in the page


def blocks(page):
    """The blocks of a page, in its order, those in comments included."""
    text = page.read_text()
    result = []
    for found in FENCE.finditer(text):
        hidden = found["hidden"] is not None
        language = found["hidden_language"] if hidden else found["language"]
        if language not in RUN | SHOWN:
            raise SystemExit(f"{page}: a block is of the language '{language}', which is none of {sorted(RUN | SHOWN)}")
        body = found["hidden"] if hidden else found["shown"]
        result.append(Block(language, body, text.count("\n", 0, found.start()) + 2))
    return result


def code_only(text):
    """The text without comments and literals, to count braces."""
    return re.sub(r"//[^\n]*|\"(\\.|[^\"\\])*\"|'(\\.|[^'\\])'", "", text)


def units(page):
    """The C++ blocks of a page, joined where braces are open: lists of blocks."""
    result, depth = [], 0
    for block in blocks(page):
        if block.language != "cpp":
            continue
        if depth == 0:
            result.append([])
        result[-1].append(block)
        code = code_only(block.text)
        depth += code.count("{") - code.count("}")
        if depth < 0:
            raise SystemExit(f"{page}:{block.line}: a brace is closed that no block has opened")
    if depth:
        raise SystemExit(f"{page}: a brace is open at the end of its blocks")
    return result


def is_declaration(unit):
    """Whether the blocks of a unit belong outside of functions."""
    text = HEAD.sub("", "".join(block.text for block in unit))
    return any(not CONTROL.match(found.group()) for found in DECLARES.finditer(text))


def cpp_program(page):
    """The program that runs the page's blocks of C++, or None."""
    found = units(page)
    if not found:
        return None
    includes, outside, inside, mains = [], [], [], []
    for number, unit in enumerate(found):
        text = ""
        for block in unit:
            includes += [line for line in block.text.split("\n") if line.startswith("#include")]
            text += f'#line {block.line} "{page}"\n' + HEAD.sub("\n", block.text)
        if MAIN.search(text):
            mains.append(number)
            text = MAIN.sub(rf"static int main_{number}(\1return 0; }}", text)  # which main() alone may leave out
        if is_declaration(unit):
            outside.append(f"namespace block_{number} {{\n{text}")
        else:
            inside.append(f"{{\n{text}")
    own = "".join(
        f"  if (const int status = call(main_{number}, argc, argv); status != 0) return status;\n" for number in mains)
    return "\n".join([
        "// Made of the blocks of a page.", *dict.fromkeys(includes), '#include "asyncgrad/asyncgrad.h"',
        "#include <cstdio>", "#include <exception>", "namespace ag = asyncgrad;",
        "static int call(int (*function)(), int, char**) { return function(); }",
        "static int call(int (*function)(int, char**), int argc, char** argv) { return function(argc, argv); }",
        *outside,
        "static void run() {", *inside, "}" * len(inside), "}",
        "static int all(int argc, char** argv) {",
        "  static_cast<void>(argc), static_cast<void>(argv);",
        # A program that starts itself again, as comparisons do, goes on in its own main.
        "  if (argc == 1) run();", "  ag::wait_all();", own + "  return 0;", "}",
        "static int all_of_page(int argc, char** argv) { return all(argc, argv); }", "}" * len(outside),
        "int main(int argc, char** argv) {",
        "  try {",
        "    return " + "".join(f"block_{number}::" for number in open_namespaces(found)) + "all_of_page(argc, argv);",
        "  } catch (const std::exception& error) {",
        '    std::fprintf(stderr, "%s\\n", error.what());',
        "    return 1;", "  }", "}", ""])


def open_namespaces(found):
    return [number for number, unit in enumerate(found) if is_declaration(unit)]


def python_programs(page):
    """The page's Python: one program of all blocks but those that other processes import, which are whole."""
    texts = [(block.line, block.text) for block in blocks(page) if block.language == "python"]
    whole = [text for _, text in texts if "__main__" in text]
    joined = ""
    for line, text in texts:
        if text not in whole:
            joined += "\n" * max(0, line - 1 - joined.count("\n")) + text  # errors name lines of the page
    return [text for text in [joined, *whole] if text.strip()]


if __name__ == "__main__":  # blocks.py PAGE: writes the C++ program of a page
    sys.stdout.write(cpp_program(pathlib.Path(sys.argv[1])) or "")
