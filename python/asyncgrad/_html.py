"""What notebooks show. All text is escaped."""
import html

# Of a longer axis this many elements are shown at either end.
_ENDS = 5


class Text(str):
    """A text of columns, which a notebook shows as it is printed."""

    def _repr_html_(self):
        return preformatted(self)


def preformatted(text):
    """A text of columns as HTML."""
    return f"<pre>{html.escape(text)}</pre>"


def _shown(extent):
    """The indices of an axis that are shown, with None where some are left out."""
    if extent <= 2 * _ENDS + 1:
        return list(range(extent))
    return [*range(_ENDS), None, *range(extent - _ENDS, extent)]


def _cell(value):
    text = format(value, ".6g") if value.dtype.kind == "f" else str(value)
    return f'<td style="text-align: right">{html.escape(text)}</td>'


def table(array, caption):
    """A table of an array with one or two axes; a longer axis is shown by its ends."""
    rows = array.reshape(-1, array.shape[-1])
    columns = _shown(rows.shape[1])
    lines = [["<td>…</td>" if None in (i, j) else _cell(rows[i, j]) for j in columns] for i in _shown(rows.shape[0])]
    body = "".join(f"<tr>{''.join(line)}</tr>" for line in lines)
    return f"<table><caption>{html.escape(caption)}</caption>{body}</table>"
