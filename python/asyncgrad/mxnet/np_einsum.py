"""mxnet.np.einsum: sums of products, as matrix products of two operands at a time."""
import math as _math

import asyncgrad as _ag

from .multiarray import given as _given
from .multiarray import owned as _owned


def einsum(subscripts, *operands, out=None, optimize=False):
    """The sum of products that the subscripts name, as numpy.einsum: "ij,jk->ik" is the matrix product.

    Without "->" the result has the letters that occur once, in alphabetical order.
    """
    inputs, result = _parsed(subscripts.replace(" ", ""), operands)
    left, x = _without_repeated(inputs[0], operands[0])
    for i in range(1, len(operands)):
        letters, y = _without_repeated(inputs[i], operands[i])
        later = set(result).union(*inputs[i + 1:])
        left, x = _product(left, x, letters, y, later)
    left, x = _summed(left, x, set(result))
    x = _ag.transpose(x, [left.index(letter) for letter in result]) if left != result else _owned(x)
    return _given(x, out)


def _once(letters):
    """The letters that occur once, in alphabetical order."""
    return "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))


def _parsed(subscripts, operands):
    terms, arrow, result = subscripts.partition("->")
    inputs = terms.split(",")
    if "." in subscripts:
        inputs, result = _without_dots(inputs, result if arrow else None, operands)
    if len(inputs) != len(operands) or any(len(term) != x.ndim for term, x in zip(inputs, operands)):
        raise ValueError(f"einsum({subscripts!r}) of arrays of shapes {[x.shape for x in operands]}")
    extents = {}
    for term, x in zip(inputs, operands):
        for letter, extent in zip(term, x.shape):
            if extents.setdefault(letter, extent) != extent:
                raise ValueError(f"einsum({subscripts!r}): {letter} is {extents[letter]} and {extent}")
    if not arrow and "." not in subscripts:
        result = _once("".join(inputs))
    if len(set(result)) != len(result) or not set(result) <= set(extents):
        raise ValueError(f"einsum({subscripts!r}): the letters of the result occur once there, and in an operand")
    return inputs, result


def _without_dots(inputs, result, operands):
    """The subscripts with letters in place of "...", which stands for axes of equal extents in all operands."""
    used = set("".join(inputs))
    free = [letter for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if letter not in used]
    counts = [x.ndim - len(term) + 3 for term, x in zip(inputs, operands) if "..." in term]
    letters = "".join(free[:max(counts)])
    named = [term.replace("...", letters[len(letters) - (x.ndim - len(term) + 3):]) for term, x in zip(inputs, operands)]
    if result is None:
        result = "..." + _once("".join(inputs).replace(".", ""))
    return named, result.replace("...", letters)


def _without_repeated(letters, x):
    """The diagonals over letters that occur more than once."""
    for letter in sorted(set(letters)):
        while letters.count(letter) > 1:
            first = letters.index(letter)
            second = letters.index(letter, first + 1)
            rest = [i for i in range(x.ndim) if i not in (first, second)]
            n = x.shape[first]
            flat = _ag.reshape(_ag.transpose(x, [first, second] + rest), (n * n, *(x.shape[i] for i in rest)))
            x, letters = flat[::n + 1], letter + "".join(letters[i] for i in rest)
    return letters, x


def _summed(letters, x, kept):
    """The sum over the letters that are not kept."""
    axes = tuple(i for i, letter in enumerate(letters) if letter not in kept)
    return "".join(letter for letter in letters if letter in kept), x.sum(axis=axes) if axes else x


def _product(a, x, b, y, later):
    """The product of two operands, summed over the letters that do not occur later."""
    a, x = _summed(a, x, set(b) | later)
    b, y = _summed(b, y, set(a) | later)
    both = [letter for letter in a if letter in b and letter in later]
    inner = [letter for letter in a if letter in b and letter not in later]
    rows, columns = [letter for letter in a if letter not in b], [letter for letter in b if letter not in a]
    extent = {**dict(zip(b, y.shape)), **dict(zip(a, x.shape))}
    size = lambda letters: _math.prod(extent[letter] for letter in letters)
    x = _ag.transpose(x, [a.index(letter) for letter in both + rows + inner])
    y = _ag.transpose(y, [b.index(letter) for letter in both + inner + columns])
    x = _ag.reshape(x, (size(both), size(rows), size(inner)))
    y = _ag.reshape(y, (size(both), size(inner), size(columns)))
    letters = both + rows + columns
    return "".join(letters), _ag.reshape(x @ y, [extent[letter] for letter in letters])
