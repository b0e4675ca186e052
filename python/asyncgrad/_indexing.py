"""x[key] and x[key] = value where the key has arrays of indices or masks, as NumPy does it.

Indices of Python and NumPy are checked at the call. Those in a tensor may not be computed yet: x[key] queues, so that one
that is not there is the error of a later wait. A mask is waited for, and so is every index of x[key] = value, which
changes nothing if one is not there.
"""
from . import _core

Tensor = _core.Tensor


def _is_mask(item):
    return isinstance(item, bool) or str(getattr(item, "dtype", "")) == "bool"


def _index_array(item):
    """An index as an array of NumPy, or as the tensor that it is."""
    import numpy as np

    if isinstance(item, Tensor):
        if item.dtype.is_floating and _core._takes_floating_indices(item):
            return item.detach().astype("int64")
        if item.dtype.is_floating:
            raise IndexError(f"indices are integers or a mask of bools, not {item.dtype}")
        return item
    array = np.asarray(item)
    if array.size == 0 and not hasattr(item, "dtype"):
        array = array.astype(np.int64)
    if array.dtype != bool and not np.issubdtype(array.dtype, np.integer):
        raise IndexError("only integers, slices, ..., None, and arrays of integers or bools are indices")
    return array


def _has_axis(item):
    return item is not None and item is not Ellipsis


def _expanded(x, key):
    """The key, a tuple, as a list with an entry for each axis of x, and None for each new one; masks became indices.

    An ellipsis that stands for no axis stays: as in NumPy, it keeps arrays of indices apart.
    """
    import numpy as np

    items = []
    for item in key:
        if item is None or item is Ellipsis or isinstance(item, slice):
            items.append(item)
        elif _is_mask(item) or (isinstance(item, list) and np.asarray(item).dtype == bool):
            items.append(("mask", np.asarray(item)))
        else:
            items.append(("index", _index_array(item)))
    used = sum(item[1].ndim if isinstance(item, tuple) and item[0] == "mask" else 1
               for item in items if _has_axis(item))
    if used > x.ndim:
        raise IndexError(f"too many indices: the tensor has {x.ndim} axes, but {used} were indexed")
    if sum(item is Ellipsis for item in items) > 1:
        raise IndexError("an index can only have one ellipsis ('...')")
    if not any(item is Ellipsis for item in items):
        items.append(Ellipsis)
    at = next(i for i, item in enumerate(items) if item is Ellipsis)
    items[at:at + 1] = [slice(None)] * (x.ndim - used) or [Ellipsis]
    result, axis = [], 0
    for item in items:
        if isinstance(item, tuple) and item[0] == "mask":
            mask = item[1]
            if mask.shape != x.shape[axis:axis + mask.ndim]:
                raise IndexError(f"a mask of shape {mask.shape} does not fit axes of shape {x.shape[axis:axis + mask.ndim]}")
            result.extend(("index", places) for places in np.nonzero(mask))
            axis += mask.ndim
        else:
            result.append(item)
            axis += _has_axis(item)
    return result


def _checked(places, extent, axis):
    import numpy as np

    if isinstance(places, Tensor):
        return places  # whose values are checked when they are known
    places = places.astype(np.int64)
    if places.size and (places.min() < -extent or places.max() >= extent):
        wrong = places[(places < -extent) | (places >= extent)].flat[0]
        raise IndexError(f"index {wrong} is out of bounds for axis {axis} with size {extent}")
    return np.where(places < 0, places + extent, places)


def _with_integers(key):
    """The key with integers of Python in place of NumPy's, or None if there are none of these."""
    import numpy as np

    items = key if isinstance(key, tuple) else (key,)
    if not any(isinstance(item, np.integer) for item in items):
        return None
    return tuple(int(item) if isinstance(item, np.integer) else item for item in items)


def get(x, key):
    """x[key]"""
    import numpy as np

    plain = _with_integers(key)
    if plain is not None:
        return x[plain]
    key = key if isinstance(key, tuple) else (key,)
    if any(_is_mask(item) and np.ndim(item) == 0 for item in key):
        # True is a new axis with the whole of x, False one with nothing.
        return x.reshape(-1).take(_core.array(_places(x, key), "int64", x.device))
    mask = key[0]
    if len(key) == 1 and _is_mask(mask) and mask.shape == x.shape[:mask.ndim]:
        return x.reshape(mask.size, *x.shape[mask.ndim:]).take(_true_places(mask, x.device))
    items = _expanded(x, key)
    # The slices first: what is left is smaller.
    axes = [item for item in items if _has_axis(item)]
    x = x[tuple(item if isinstance(item, slice) else slice(None) for item in axes)]
    indexed = [axis for axis, item in enumerate(axes) if not isinstance(item, slice)]
    places = [_checked(axes[axis][1], x.shape[axis], axis) for axis in indexed]
    try:
        shape = np.broadcast_shapes(*(p.shape for p in places))
    except ValueError:
        shapes = " and ".join(str(tuple(p.shape)) for p in places)
        raise IndexError(f"arrays of indices select elements together, so that their shapes must broadcast; got {shapes}") from None
    extents = [x.shape[axis] for axis in indexed]
    if any(isinstance(p, Tensor) for p in places):
        places = [p.to(x.device) if isinstance(p, Tensor) else _core.array(p, device=x.device) for p in places]
        flat = _core.ravel_multi_index(places, extents)
    else:
        flat = 0
        for extent, p in zip(extents, places):
            flat = flat * extent + p
        flat = _core.array(np.broadcast_to(flat, shape).astype(np.int64), device=x.device)
    where = [i for i, item in enumerate(items) if isinstance(item, tuple)]
    together = where == list(range(where[0], where[-1] + 1))
    if together:
        first = indexed[0]
    else:
        x = x.transpose(*indexed, *(axis for axis in range(x.ndim) if axis not in indexed))
        first = 0
    count = len(indexed)
    x = x.reshape(*x.shape[:first], int(np.prod(x.shape[first:first + count])), *x.shape[first + count:])
    result = x.take(flat, first)
    # The new axes.
    extents, rest = [], list(result.shape)
    if together:
        for i, item in enumerate(items):
            if item is None:
                extents.append(1)
            elif isinstance(item, slice):
                extents.append(rest.pop(0))
            elif i == where[0]:
                extents.extend(rest.pop(0) for _ in shape)
    else:
        extents.extend(rest.pop(0) for _ in shape)
        for item in items:
            if item is None:
                extents.append(1)
            elif isinstance(item, slice):
                extents.append(rest.pop(0))
    return result.reshape(*extents)


def _true_places(mask, device):
    """Where the mask, a tensor or an array of NumPy, is true, in row-major order."""
    mask = (mask if isinstance(mask, Tensor) else _core.array(mask)).reshape(-1)
    return _core.nonzero(mask).reshape(-1).to(device)


def _host_index(item):
    import numpy as np

    if item is None or item is Ellipsis or isinstance(item, (slice, int)):
        return item
    return np.asarray(item if _is_mask(item) else _index_array(item))


def _places(x, key):
    """Where the elements of x[key], a tuple, are in the flattened x."""
    import numpy as np

    items = tuple(_host_index(item) for item in key)
    if x.ndim == 0 or any(_is_mask(item) for item in items):
        return np.arange(x.size, dtype=np.int64).reshape(x.shape)[items]
    places = 0  # from the index along each axis, of the elements of x[key] alone
    for axis, extent in enumerate(x.shape):
        along = np.arange(extent, dtype=np.int64).reshape(-1, *[1] * (x.ndim - axis - 1))
        places = places * extent + np.broadcast_to(along, x.shape)[items]
    return places


def _is_number(value):
    return isinstance(value, (int, float))


def _element_for(x, value):
    """A number as an element of x: integers lose its fraction, and bool is whether it differs from 0."""
    return bool(value) if x.dtype == "bool" else value if x.dtype.is_floating else int(value)


def set(x, key, value):  # noqa: A001
    """x[key] = value"""
    key = key if isinstance(key, tuple) else (key,)
    if _is_number(value):
        value = _element_for(x, value)
        is_mask = len(key) == 1 and isinstance(key[0], Tensor) and _is_mask(key[0]) and key[0].shape == x.shape
        if is_mask and str(x.dtype) in ("float32", "float64", "int64", "bool"):
            x.copy_(_core.masked_fill(x, key[0], value))  # which does not wait for the mask
            return
        value = _core.full((), value, x.dtype, x.device)
    elif not isinstance(value, Tensor):
        value = _core.array(value, device=x.device)
    value = value.to(x.device).astype(x.dtype, copy=False)
    places = _places(x, key)
    while value.ndim > places.ndim and value.shape[0] == 1:
        value = value.squeeze(0)
    if value.shape != places.shape:
        value = value.broadcast_to(places.shape)
    _core._put(x, _core.array(places, "int64", x.device), value)
