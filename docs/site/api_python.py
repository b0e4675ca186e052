"""Writes a page for each module of the Python package: its docstrings, and the signatures that it has when imported."""
import importlib
import inspect
import pkgutil
import re
import types

from prose import rst

# Modules whose names another one offers.
INNER = re.compile(r"\.nn\.(containers|layers|module|native)$|\.(npx?_\w+|multiarray|missing)$|\.gluon\.(activations|block|"
                   r"convolutions|norms|parameter|rnn_cells|trainer)$|\.samplers$")


def modules():
    """Every public module, those that others import from first: where a name stands twice, the first has it."""
    import asyncgrad
    names = [found.name for found in pkgutil.walk_packages(asyncgrad.__path__, "asyncgrad.")
             if not any(part.startswith("_") for part in found.name.split(".")[1:])]
    names = [name for name in names if not INNER.search(name)]
    own = [name for name in names if ".mxnet" not in name]
    others = sorted((name for name in names if ".mxnet" in name), key=lambda name: (-name.count("."), name))
    return [*own, "asyncgrad", *others]


def plain(signature):
    """Without what says nothing, and without the names of inner modules."""
    signature = re.sub(r": object( \| None)?(?=[,)= ])", "", signature)
    signature = re.sub(r"\basyncgrad\._core\.", "asyncgrad.", signature).replace(" -> object", "").replace(" -> None", "")
    signature = re.sub(r"(?<![\w.])Tensor\b", "asyncgrad.Tensor", signature)  # there is one in asyncgrad.torch, too
    return re.sub(r"<[^<>]*>", "...", signature)


def of_extension(thing, name):
    """The signatures and the documentation of a function of the extension, one for each overload."""
    result = []
    for text, doc, defaults in thing.__nb_signature__:
        text = re.sub(r"\\(\d+)", lambda found, of=defaults: short(of[int(found.group(1))]), text)
        text = re.sub(r"^def \w*", "", text, flags=re.M).split("\n")[-1]
        result.append((name + plain(re.sub(r"\(self(, )?", "(", text)), doc or ""))
    return result


def short(value):
    text = repr(value)
    return "..." if "<" in text or " at 0x" in text else text


def signature_of(thing, name, bound=False):
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return name + "(...)"
    parameters = list(found.parameters.values())
    if bound and parameters and parameters[0].name in ("self", "cls"):
        parameters = parameters[1:]
    parameters = [one.replace(annotation=inspect.Parameter.empty) for one in parameters]
    parameters = [one if one.default is inspect.Parameter.empty or short(one.default) != "..." else
                  one.replace(default=Ellipsis) for one in parameters]
    return name + plain(str(found.replace(parameters=parameters, return_annotation=inspect.Signature.empty)).replace(
        "Ellipsis", "..."))


def described(thing, name, bound=False):
    if hasattr(thing, "__nb_signature__"):
        return of_extension(thing, name)
    return [(signature_of(thing, name, bound), inspect.getdoc(thing) or "")]


def entry(directive, entries, indent):
    """One directive for each documentation; overloads that share it stand together."""
    text = ""
    while entries:
        doc = entries[0][1]
        same = [signature for signature, one in entries if one in (doc, "")]
        entries = [one for one in entries if one[1] not in (doc, "")]
        place = "\n" + indent + " " * (len(directive) + 7)
        text += f"{indent}.. py:{directive}:: {place.join(dict.fromkeys(same))}\n\n"
        text += rst(doc, "python", indent + "   ") if doc else ""
    return text


def of_class(cls, name):
    doc = inspect.getdoc(cls) or ""
    if "__init__" in cls.__dict__ and hasattr(cls.__init__, "__nb_signature__") and not hasattr(cls, "__signature__"):
        heads = [one[0] for one in of_extension(cls.__init__, name)]
    else:
        heads = [signature_of(cls, name)]
    place = "\n" + " " * len(".. py:class:: ")
    text = f".. py:class:: {place.join(dict.fromkeys(heads))}\n\n" + rst(doc, "python", "   ")
    for member in sorted(vars(cls)):
        thing = vars(cls)[member]
        if member.startswith("_"):
            continue
        if isinstance(thing, property):
            doc = inspect.getdoc(thing.fget) or inspect.getdoc(thing) or ""
            if hasattr(thing.fget, "__nb_signature__"):
                doc = thing.fget.__nb_signature__[0][1] or ""
            text += f"   .. py:property:: {member}\n\n" + (rst(doc, "python", "      ") if doc else "")
        elif isinstance(thing, (staticmethod, classmethod)):
            text += entry("method", described(thing.__func__, member, isinstance(thing, classmethod)), "   ")
        elif callable(thing) and not isinstance(thing, type):
            text += entry("method", described(thing, member, True), "   ")
    return text


def public(module):
    """The names that the module offers."""
    listed = getattr(module, "__all__", None)
    for name in sorted(listed or dir(module)):
        if name.startswith("_"):
            continue
        try:
            thing = getattr(module, name)
        except (AttributeError, NotImplementedError):
            continue
        home = getattr(thing, "__module__", None) or type(thing).__module__
        if isinstance(thing, types.ModuleType) or not str(home).startswith("asyncgrad") and not callable(thing):
            continue
        if str(home).startswith(("asyncgrad", "nanobind")) and home != "asyncgrad._signature":
            yield name, thing


def write_pages(folder):
    """Writes python/asyncgrad.rst and so on. Returns the names of the modules, with the first lines about them."""
    folder.mkdir(parents=True, exist_ok=True)
    seen, rows = {}, []
    for name in modules():
        module = importlib.import_module(name)
        doc = (module.__doc__ or "").strip()
        text = f"{name}\n{'=' * len(name)}\n\n.. py:module:: {name}\n\n" + rst(doc, "python")
        classes, functions, others, elsewhere = "", "", "", []
        for one, thing in public(module):
            if id(thing) in seen and seen[id(thing)] != one + "@" + name:
                place = seen[id(thing)].split("@")
                elsewhere.append(f":py:obj:`{one} <{place[1]}.{place[0]}>`")
                continue
            seen[id(thing)] = one + "@" + name
            if isinstance(thing, type):
                classes += of_class(thing, one)
            elif callable(thing):
                functions += entry("function", described(thing, one), "")
            else:
                others += f".. py:data:: {one}\n\n" + rst(f"`{short(thing)}`", "python", "   ")
        for title, part in (("Classes", classes), ("Functions", functions), ("Values", others)):
            if part:
                text += f"{title}\n{'-' * len(title)}\n\n{part}"
        if elsewhere:
            text += "Names of other modules\n----------------------\n\n" + ", ".join(elsewhere) + "\n"
        (folder / f"{name}.rst").write_text(text)
        rows.append((name, doc.split("\n\n")[0]))
    return sorted(rows)
