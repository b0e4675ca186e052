"""mxnet.npx: boxes in images."""
import math as _math

import numpy as _np

import asyncgrad as _ag

from .multiarray import wrapped as _wrapped


def multibox_prior(data, sizes=(1.0,), ratios=(1.0,), clip=False, steps=(-1.0, -1.0), offsets=(0.5, 0.5)):
    """Anchor boxes around each pixel of data (N, C, H, W), as parts of the image: (1, H W (S + R - 1), 4).

    A box is (left, top, right, bottom). Those with the first ratio and each of the S sizes come first, then those with
    the first size and the other R - 1 ratios.
    """
    height, width = data.shape[2:]
    rows = (_np.arange(height) + offsets[0]) * (steps[0] if steps[0] > 0 else 1 / height)
    columns = (_np.arange(width) + offsets[1]) * (steps[1] if steps[1] > 0 else 1 / width)
    sizes, ratios = list(sizes), list(ratios)
    boxes = [(size, ratios[0]) for size in sizes] + [(sizes[0], ratio) for ratio in ratios[1:]]
    halves = _np.array([(s * height / width * _math.sqrt(r) / 2, s / _math.sqrt(r) / 2) for s, r in boxes])
    centers = _np.stack(_np.meshgrid(columns, rows), -1).reshape(-1, 1, 2)
    anchors = _np.concatenate([centers - halves, centers + halves], -1).reshape(1, -1, 4)
    anchors = _np.clip(anchors, 0, 1) if clip else anchors
    return _wrapped(_ag.array(anchors, str(data.dtype), data.device))


def roi_pooling(data, rois, pooled_size, spatial_scale):
    """The largest elements of the parts of regions (Girshick 2015): data (N, C, H, W) -> (R, C, h, w) for a size (h, w).

    rois (R, 5) has an image's number and a region's (left, top, right, bottom) before it is scaled. Waits for rois.
    """
    pooled = []
    for number, *corners in _np.asarray(rois).tolist():
        left, top, right, bottom = (_math.floor(corner * spatial_scale + 0.5) for corner in corners)
        rows = _parts(top, bottom, pooled_size[0], data.shape[2])
        columns = _parts(left, right, pooled_size[1], data.shape[3])
        image = data[int(number)]
        parts = [_largest(image[:, a:b, c:d]) for a, b in rows for c, d in columns]
        pooled.append(_ag.reshape(_ag.stack(parts, 1), (data.shape[1], *pooled_size)))
    return _ag.stack(pooled, 0)


def _parts(first, last, count, extent):
    """Bounds of `count` parts of a region that overlap where it is not divisible."""
    size = max(last - first + 1, 1) / count
    inside = lambda place: min(max(place + first, 0), extent)
    return [(inside(_math.floor(i * size)), inside(_math.ceil((i + 1) * size))) for i in range(count)]


def _largest(part):
    if not part.size:
        return _ag.zeros(part.shape[0], dtype=part.dtype, device=part.device)
    rows = _ag.reshape(part, (part.shape[0], -1))
    first = _ag.expand_dims(_ag.argmax(rows, 1), 1)  # of equal ones the first gets the gradient, as in MXNet
    return _ag.squeeze(_ag.take_along_axis(rows, first, 1), 1)
