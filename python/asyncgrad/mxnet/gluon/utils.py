"""Batches on several devices, and clipping."""
import asyncgrad as ag

from .. import np


def split_data(data, num_slice, batch_axis=0, even_split=True):
    """As many parts along an axis; unless they must be equal, the first ones may have one element more."""
    if even_split and data.shape[batch_axis] % num_slice:
        raise ValueError(f"data with shape {data.shape} cannot be evenly split into {num_slice} slices")
    return np.array_split(data, num_slice, batch_axis)


def split_and_load(data, ctx_list, batch_axis=0, even_split=True):
    """split_data() with a part for each device, on that."""
    if not hasattr(data, "asnumpy"):
        data = np.array(data, ctx=ctx_list[0])
    if len(ctx_list) == 1:
        return [data.as_in_ctx(ctx_list[0])]
    return [part.as_in_ctx(ctx) for part, ctx in zip(split_data(data, len(ctx_list), batch_axis, even_split), ctx_list)]


def clip_global_norm(arrays, max_norm, check_isfinite=True):
    """Scales arrays, seen as one vector, to a length of at most max_norm; returns the length before. Waits for it."""
    total = sum(ag.square(a).sum().item() for a in arrays) ** 0.5
    if total > max_norm:
        for array in arrays:
            array *= max_norm / (total + 1e-8)
    return total


def download(*args, **kwargs):
    """Raises NotImplementedError."""
    raise NotImplementedError("gluon.utils.download: get the file with urllib.request.urlretrieve()")
