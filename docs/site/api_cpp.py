"""Writes a page for each public header: its comments, and the declarations as clang reads them."""
import pathlib
import re

import clang.cindex as clang

from prose import rst

ROOT = pathlib.Path(__file__).resolve().parents[2]
KIND = clang.CursorKind
CLASSES = {KIND.STRUCT_DECL, KIND.CLASS_DECL, KIND.CLASS_TEMPLATE, KIND.CLASS_TEMPLATE_PARTIAL_SPECIALIZATION}
FUNCTIONS = {KIND.FUNCTION_DECL, KIND.FUNCTION_TEMPLATE, KIND.CXX_METHOD, KIND.CONSTRUCTOR, KIND.DESTRUCTOR,
             KIND.CONVERSION_FUNCTION}
VALUES = {KIND.FIELD_DECL, KIND.VAR_DECL}
ALIASES = {KIND.TYPE_ALIAS_DECL, KIND.TYPE_ALIAS_TEMPLATE_DECL, KIND.TYPEDEF_DECL}
INTERNAL = re.compile(r"^detail$|_detail$")
# Every call has it; it names the caller's line in messages.
WHERE = re.compile(r",?\s*Location where = Location::current\(\)|,?\s*Location where = \{\}")


def public_headers():
    """What asyncgrad.h and experiment.h include, directly or not, for programs: not what says that it is internal."""
    found = ["asyncgrad.h", "experiment.h"]
    for header in found:
        for included in re.findall(r'^#include "asyncgrad/([^"]+)"', (ROOT / header).read_text(), re.M):
            if included not in found:
                found.append(included)
    return sorted(name for name in found if "Internal." not in introduction((ROOT / name).read_text()))


def one_line(text):
    text = re.sub(r"\s*//.*", "", text)
    return re.sub(r"\s+", " ", text).strip()


def head_of_function(text, name):
    """The declaration without its body, its initialisers and the parameter `where`."""
    text = one_line(text)
    begin = re.search(r"(?<![\w:])" + re.escape(name).replace(r"operator", r"operator\s*") + r"\s*\(", text)
    at = begin.end() - 1 if begin else text.index("(")
    depth = 0
    while at < len(text):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
        if depth == 0:
            break
    end = at
    while end < len(text) and text[end] not in "{;" and not re.match(r":(?!:)", text[end:]):
        end += 2 if text.startswith("::", end) else 1
    head = WHERE.sub("", text[:at]) + text[at:end].rstrip()
    return re.sub(r"\(\s+", "(", head)


class Header:
    """The page of one header."""

    def __init__(self, name):
        self.name = name
        self.text = (ROOT / name).read_text()
        self.bytes = self.text.encode()
        self.lines = self.text.split("\n")
        self.out = []

    def source(self, begin, end):
        return self.bytes[begin:end].decode()

    def comments(self, first, last):
        """The comments that stand alone on lines [first, last), each as (line after it, text)."""
        found, run = [], []
        for number in range(first, last + 1):
            line = self.lines[number - 1].strip() if number < last else ""
            if line.startswith("//"):
                text = line[2:].removeprefix(" ")
                if not text.startswith("NOLINT"):
                    run.append(text)
            elif run:
                found.append((number, "\n".join(run)))
                run = []
        return found

    def trailing(self, cursor):
        """The comment behind a declaration, with the lines in which it goes on; and the last of these lines."""
        line, column = cursor.extent.end.line, cursor.extent.end.column
        rest = self.lines[line - 1].encode()[column - 1:].decode()
        found = re.match(r"[^/\"]*//\s?(.*)", rest)
        if not found:
            return "", line
        text = [re.sub(r"\s*NOLINT\S*\(.*?\)(: .*)?$", "", found.group(1))]
        place = self.lines[line - 1].index("//")
        while line < len(self.lines) and re.match(rf"\s{{{place}}}//", self.lines[line]):
            text.append(self.lines[line].strip()[2:].removeprefix(" "))
            line += 1
        return "\n".join(text).strip(), line

    def entities(self, parent):
        """The declarations of a scope that are in this header, with whether they are shown."""
        result = []
        for cursor in parent.get_children():
            file = cursor.location.file
            if file is None or pathlib.Path(file.name).resolve() != ROOT / self.name:
                continue
            kind = cursor.kind
            known = kind in CLASSES or kind in FUNCTIONS or kind in VALUES or kind in ALIASES or kind in (
                KIND.ENUM_DECL, KIND.CONCEPT_DECL, KIND.ENUM_CONSTANT_DECL)
            if kind == KIND.NAMESPACE:
                result.append((cursor, not INTERNAL.search(cursor.spelling)))
            elif kind == KIND.FRIEND_DECL:
                result.append((cursor, False))
            elif known:
                hidden = cursor.access_specifier == clang.AccessSpecifier.PRIVATE
                hidden |= kind in CLASSES and not cursor.is_definition()
                # A definition outside of its class, which has declared it.
                hidden |= kind in FUNCTIONS and cursor.semantic_parent != cursor.lexical_parent
                hidden |= kind in VALUES and cursor.semantic_parent != cursor.lexical_parent
                result.append((cursor, not hidden))
        return sorted(result, key=lambda one: one[0].extent.start.offset)

    def write(self, text):
        self.out.append(text)

    def scope(self, parent, first, last, indent, namespace=""):
        """Writes what a namespace or a class contains on the lines [first, last)."""
        at = first
        group = []  # of functions that no comment separates

        def end_group():
            if group:
                signatures = ("\n" + indent + " " * len(".. cpp:function:: ")).join(group)
                self.write(f"{indent}.. cpp:function:: {signatures}\n\n")
                group.clear()

        shown_before = None
        end_offset = 0
        for cursor, shown in self.entities(parent):
            begin, end = cursor.extent.start.line, cursor.extent.end.line
            if cursor.extent.start.offset < end_offset and cursor.kind not in VALUES:  # several values share their type
                continue
            end_offset = cursor.extent.end.offset
            remarks = self.comments(at, begin)
            if not shown and remarks and remarks[-1][0] == begin:
                remarks.pop()
            if not shown and shown_before is False:
                remarks = []  # among private members
            if remarks or (at < begin and not self.lines[begin - 2].strip()):
                end_group()
            for _, text in remarks:
                self.write(rst(text, "cpp", indent))
            note, at = self.trailing(cursor)
            at += 1
            shown_before = shown
            if not shown:
                at = max(at, end + 1)
                continue
            if cursor.kind in FUNCTIONS and not note:
                group.append(self.function(cursor))
                continue
            end_group()
            self.entity(cursor, note, indent, namespace)
        end_group()
        for _, text in self.comments(at, last) if parent.kind != KIND.NAMESPACE else []:
            if shown_before:
                self.write(rst(text, "cpp", indent))

    def function(self, cursor):
        text = self.source(cursor.extent.start.offset, cursor.extent.end.offset)
        name = cursor.spelling.split("<")[0] if cursor.kind == KIND.CONSTRUCTOR else cursor.spelling
        return head_of_function(text, name)

    def entity(self, cursor, note, indent, namespace):
        deeper = indent + "   "
        begin, end = cursor.extent.start, cursor.extent.end
        text = self.source(begin.offset, end.offset)
        kind = cursor.kind
        if kind == KIND.NAMESPACE:
            name = f"{namespace}::{cursor.spelling}" if namespace else cursor.spelling
            self.write(f".. cpp:namespace:: {name}\n\n")
            self.scope(cursor, begin.line + 1, end.line, indent, name)
            if namespace:
                self.write(f".. cpp:namespace:: {namespace}\n\n")
            return
        if kind in FUNCTIONS:
            self.write(f"{indent}.. cpp:function:: {self.function(cursor)}\n\n")
        elif kind in CLASSES:
            head = one_line(text[:self.body(text)])
            directive = "struct" if re.search(r"\bstruct\s+\w", head) else "class"
            declared = re.sub(r"\b(struct|class)\s+(?=\w+\s*(<.*>)?\s*(final\b.*|:.*)?$)", "", head)
            self.write(f"{indent}.. cpp:{directive}:: {declared}\n\n")
            if note:
                self.write(rst(note, "cpp", deeper))
            inside = begin.line + text[:self.body(text)].count("\n") + 1
            self.scope(cursor, inside, end.line, deeper, namespace)
            return
        elif kind == KIND.ENUM_DECL:
            head = one_line(text[:text.index("{")])
            name = re.sub(r"^enum\s+(class|struct)?\s*", "", head)
            self.write(f"{indent}.. cpp:enum-class:: {name}\n\n")
            self.scope(cursor, begin.line + 1, end.line, deeper, namespace)
            return
        elif kind == KIND.ENUM_CONSTANT_DECL:
            self.write(f"{indent}.. cpp:enumerator:: {one_line(text)}\n\n")
        elif kind in VALUES:
            self.write(f"{indent}.. cpp:member:: {self.value(cursor)}\n\n")
        elif kind in ALIASES:
            declared = re.sub(r"\busing\s+", "", one_line(text))
            self.write(f"{indent}.. cpp:type:: {declared}\n\n")
        elif kind == KIND.CONCEPT_DECL:
            declared = re.sub(r"\bconcept\s+", "", one_line(text.partition("=")[0]))
            self.write(f"{indent}.. cpp:concept:: {declared}\n\n{deeper}.. code-block:: cpp\n\n")
            self.write("".join(f"{deeper}   {line}\n" for line in text.split("\n")) + "\n")
        if note:
            self.write(rst(note, "cpp", deeper))

    def body(self, text):
        """Where the body of a class begins."""
        depth = 0
        for at, sign in enumerate(text):
            depth += {"(": 1, ")": -1}.get(sign, 0)
            if sign == "{" and depth == 0:
                return at
        return len(text)

    def value(self, cursor):
        """`type name = initial` of one of several that share a type."""
        siblings = [one for one in cursor.lexical_parent.get_children()
                    if one.kind == cursor.kind and one.extent.start.offset == cursor.extent.start.offset]
        kind = self.source(cursor.extent.start.offset, min(one.location.offset for one in siblings))
        own = one_line(kind + self.source(cursor.location.offset, cursor.extent.end.offset))
        return re.sub(r"\[\[.*?\]\]\s*", "", own)


def introduction(text):
    """The comment at the top of a header."""
    return "\n".join(line[2:].removeprefix(" ") for line in text.split("#pragma once")[0].rstrip().split("\n"))


def translation_unit():
    index = clang.Index.create()
    main = '#include "asyncgrad/asyncgrad.h"\n#include "asyncgrad/experiment.h"\n'
    arguments = ["-std=c++20", f"-I{ROOT / 'include'}", "-x", "c++"]
    include = pathlib.Path("/usr/lib/gcc") / "x86_64-linux-gnu"
    for folder in sorted(include.glob("*/include")):
        arguments.append(f"-isystem{folder}")
    unit = index.parse("api.cpp", arguments, unsaved_files=[("api.cpp", main)])
    errors = [str(one) for one in unit.diagnostics if one.severity >= clang.Diagnostic.Error]
    if errors:
        raise SystemExit("clang cannot read the headers:\n" + "\n".join(errors[:10]))
    return unit


def write_pages(folder):
    """Writes cpp/core/tensor.rst and so on, and cpp/index.rst. Returns the names of the headers."""
    unit = translation_unit()
    headers = public_headers()
    rows = []
    for name in headers:
        header = Header(name)
        intro = introduction(header.text)
        header.write(f"{name}\n{'=' * len(name)}\n\n" + rst(intro, "cpp"))
        header.write(f".. code-block:: cpp\n\n   #include \"asyncgrad/{name}\"\n\n")
        if name not in ("asyncgrad.h", "experiment.h"):
            header.scope(unit.cursor, 1 + intro.count("\n") + 1, len(header.lines), "")
            if not any(".. cpp:" in part and "namespace::" not in part for part in header.out):
                raise SystemExit(f"{name}: no declaration was found in it")
        page = (folder / name).with_suffix(".rst")
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text("".join(header.out))
        rows.append((name, intro.split("\n\n")[0].split("\n   ")[0]))
    return rows
