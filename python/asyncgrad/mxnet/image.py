"""mxnet.image: other sizes and parts of images (H, W, C). Reading of files is left to the libraries that do it well.

The functions wait for the image.
"""
import numpy as _np

from . import np
from .random import _generator

_ONE = _np.float32(2048)  # OpenCV weighs bytes by integers: 2048 stands for 1


def imread(filename, *args, **kwargs):
    """Raises NotImplementedError."""
    raise NotImplementedError("image.imread: read the file with a library of images and use np.array")


def _neighbours(extent, wanted):
    """For each pixel of the result, the one before it and how far it is beyond that."""
    places = ((_np.arange(wanted) + 0.5) * (1 / (wanted / extent)) - 0.5).astype("float32")
    before = _np.floor(places)
    return before.astype(int), places - before


def _resized(image, width, height):
    """As OpenCV's bilinear resize, of bytes bit for bit."""
    if (height, width) == image.shape[:2]:
        return image
    column, right = _neighbours(image.shape[1], width)
    row, below = _neighbours(image.shape[0], height)
    right = _np.where((column < 0) | (column >= image.shape[1] - 1), _np.float32(0), right)
    columns = [_np.clip(column + i, 0, image.shape[1] - 1) for i in (0, 1)]
    rows = [_np.clip(row + i, 0, image.shape[0] - 1) for i in (0, 1)]
    weights = [part[None, :, None] for part in (1 - right, right)], [part[:, None, None] for part in (1 - below, below)]
    if image.dtype != "uint8":
        values = image.astype("float32")
        values = values[:, columns[0]] * weights[0][0] + values[:, columns[1]] * weights[0][1]
        return (values[rows[0]] * weights[1][0] + values[rows[1]] * weights[1][1]).astype(image.dtype)
    across, down = ([_np.round(part * _ONE).astype(int) for part in pair] for pair in weights)
    values = image.astype(int)
    values = values[:, columns[0]] * across[0] + values[:, columns[1]] * across[1]
    sums = [(part * (values[at] >> 4)) >> 16 for part, at in zip(down, rows)]
    return _np.clip((sums[0] + sums[1] + 2) >> 2, 0, 255).astype("uint8")


def imresize(src, w, h, interp=1):
    """The image in another width and height, by bilinear interpolation."""
    if interp != 1:
        raise NotImplementedError(f"image.imresize(interp={interp})")
    if w <= 0 or h <= 0:
        raise ValueError(f"image.imresize to width {w} and height {h}")
    return np.array(_resized(_np.asarray(src), w, h), ctx=getattr(src, "ctx", None))


def fixed_crop(src, x0, y0, w, h, size=None, interp=2):
    """The w columns from x0 and h rows from y0, then resized to size = (width, height)."""
    part = src[y0:y0 + h, x0:x0 + w]
    return part.copy() if size is None or tuple(size) == (w, h) else imresize(part, *size, interp=interp)


def scale_down(src_size, size):
    """The size (width, height), made smaller so that it fits into src_size with its ratio kept."""
    (w, h), (width, height) = size, src_size
    if height < h:
        w, h = w * height / h, height
    if width < w:
        w, h = width, h * width / w
    return int(w), int(h)


def _cropped(src, size, interp, place):
    height, width = src.shape[:2]
    w, h = scale_down((width, height), size)
    x0, y0 = place(width - w, height - h)
    return fixed_crop(src, x0, y0, w, h, size, interp), (x0, y0, w, h)


def random_crop(src, size, interp=2):
    """A random part of size = (width, height), and its (x0, y0, width, height); resized if the image is smaller."""
    draw = lambda free: int(_generator().integers(0, free + 1))
    return _cropped(src, size, interp, lambda x, y: (draw(x), draw(y)))


def center_crop(src, size, interp=2):
    """The part of size = (width, height) in the middle, and its (x0, y0, width, height)."""
    return _cropped(src, size, interp, lambda x, y: (x // 2, y // 2))


def color_normalize(src, mean, std=None):
    """(src - mean) / std for each channel."""
    return src - mean if std is None else (src - mean) / std
