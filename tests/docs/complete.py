"""Every declaration of the public headers stands on a page: complete.py SOURCES, after stage.py has filled SOURCES."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "docs" / "site"))
import api_cpp  # noqa: E402

KIND = api_cpp.KIND
SCOPES = api_cpp.CLASSES | {KIND.ENUM_DECL}
NAMED = SCOPES | api_cpp.FUNCTIONS | api_cpp.VALUES | api_cpp.ALIASES | {KIND.CONCEPT_DECL, KIND.ENUM_CONSTANT_DECL}


def declarations(scope, headers):
    """(header, name, line) of everything that a program can name."""
    for cursor in scope.get_children():
        if cursor.kind == KIND.NAMESPACE:
            if not api_cpp.INTERNAL.search(cursor.spelling):
                yield from declarations(cursor, headers)
            continue
        file = cursor.location.file
        place = pathlib.Path(file.name).resolve() if file else None
        header = str(place.relative_to(api_cpp.ROOT)) if place and place.is_relative_to(api_cpp.ROOT) else None
        if header not in headers or cursor.access_specifier == api_cpp.clang.AccessSpecifier.PRIVATE:
            continue
        if cursor.kind in NAMED and not (cursor.kind in api_cpp.CLASSES and not cursor.is_definition()):
            yield header, re.sub(r"<.*|^operator .*", "", cursor.spelling), cursor.location.line
        if cursor.kind in SCOPES:
            yield from declarations(cursor, headers)


def main(sources):
    texts = {header: (sources / "cpp" / header).with_suffix(".rst").read_text() for header in api_cpp.public_headers()}
    found = list(declarations(api_cpp.translation_unit().cursor, texts))
    lost = [f"{header}:{line}: {name}" for header, name, line in found
            if not re.search(rf"^ *(\.\. cpp:\w+::|    ).*(?<!\w){re.escape(name)}(?!\w)", texts[header], re.M)]
    print("\n".join(lost))
    print(f"{len(found)} declarations, {len(lost)} on no page")
    return int(bool(lost) or len(found) < 1000)


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
