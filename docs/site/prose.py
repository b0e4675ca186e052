"""Turns the plain text of comments and docstrings into reStructuredText."""
import re

CODE = re.compile(r"`([^`]+)`")
SPECIAL = re.compile(r"([*|\\`])|(_)(?=\W|$)")


def inline(text):
    """A line or a paragraph: `x` becomes code, and nothing else is markup."""
    parts = CODE.split(text)
    for i in range(0, len(parts), 2):
        parts[i] = SPECIAL.sub(lambda found: "\\" + found.group(), parts[i])
    for i in range(1, len(parts), 2):
        before, after = parts[i - 1], parts[i + 1]
        parts[i] = ("\\ " if before and before[-1] not in " \n(" else "") + f"``{parts[i]}``" + (
            "\\ " if after and (after[0].isalnum() or after[0] in "_") else "")
    return "".join(parts)


def heading(line):
    """The text of a line such as "--- Blocking. ---", or None."""
    found = re.fullmatch(r"-{3} (.*?)[ -]*", line)
    return found and found.group(1).rstrip(".")


def rst(text, language, indent=""):
    """The text's paragraphs, lists and samples of code, which are indented by two columns and more."""
    result = []
    lines = text.rstrip().split("\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            at += 1
        elif heading(line):
            result += [f"**{inline(heading(line))}**", ""]
            at += 1
        elif line.startswith((" ", "\t")) and not line.lstrip().startswith("- "):
            begin = at
            while at < len(lines) and (lines[at].startswith(" ") or not lines[at].strip()):
                at += 1
            block = lines[begin:at]
            depth = min(len(one) - len(one.lstrip()) for one in block if one.strip())
            result += [f".. code-block:: {language}", ""] + ["   " + one[depth:] for one in "\n".join(block).rstrip().split("\n")] + [""]
        elif line.lstrip().startswith("- "):
            depth = len(line) - len(line.lstrip())
            items = []
            while at < len(lines) and lines[at].strip():
                one = lines[at]
                if one[depth:].startswith("- "):
                    items.append(one[depth + 2:])
                elif len(one) - len(one.lstrip()) > depth:
                    items[-1] += " " + one.strip()
                else:
                    break
                at += 1
            result += ["- " + inline(item) for item in items] + [""]
        else:
            begin = at
            while (at < len(lines) and lines[at].strip() and not lines[at].startswith(" ") and not heading(lines[at]) and
                   not lines[at].startswith("- ")):
                at += 1
            result += [inline("\n".join(lines[begin:at])), ""]
    return "\n".join(indent + line if line else "" for line in "\n".join(result).split("\n")).rstrip() + "\n\n"
