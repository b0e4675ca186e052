"""Transforms of images."""
import numpy as _np

from .... import np


class Compose:
    """Transforms one after the other."""

    def __init__(self, transforms):
        self._transforms = list(transforms)

    def __call__(self, x):
        for transform in self._transforms:
            x = transform(x)
        return x

    def add(self, *transforms):
        """Appends transforms."""
        self._transforms += transforms


class ToTensor:
    """(H, W, C) of 0 to 255 -> (C, H, W) of 0 to 1."""

    def __call__(self, x):
        values = _np.asarray(x).astype("float32") / 255
        return np.array(_np.ascontiguousarray(_np.moveaxis(values, -1, -3)))


class Resize:
    """To a size (width, height), or one for both, by bilinear interpolation."""

    def __init__(self, size, keep_ratio=False, interpolation=1):
        if keep_ratio:
            raise NotImplementedError("Resize(keep_ratio=True)")
        self._size = (size, size) if isinstance(size, int) else tuple(size[::-1])

    def __call__(self, x):
        values = _np.asarray(x)
        image = values.astype("float32")
        for axis, wanted in ((0, self._size[0]), (1, self._size[1])):
            extent = image.shape[axis]
            places = _np.clip((_np.arange(wanted) + 0.5) * extent / wanted - 0.5, 0, extent - 1)
            low = _np.floor(places).astype(int)
            high = _np.minimum(low + 1, extent - 1)
            shape = [1] * image.ndim
            shape[axis] = wanted
            part = (places - low).astype("float32").reshape(shape)
            image = image.take(low, axis) * (1 - part) + image.take(high, axis) * part
        return np.array(image if values.dtype.kind == "f" else _np.round(image).astype(values.dtype))


class Normalize:
    """(x - mean) / std for each channel of (C, H, W)."""

    def __init__(self, mean=0.0, std=1.0):
        self._mean, self._std = _np.asarray(mean, "float32"), _np.asarray(std, "float32")

    def __call__(self, x):
        mean, std = (np.array(part.reshape(-1, 1, 1) if part.ndim else part) for part in (self._mean, self._std))
        return (x - mean) / std


class Cast:
    """Conversion to a type."""

    def __init__(self, dtype="float32"):
        self._dtype = dtype

    def __call__(self, x):
        return np.array(x).astype(self._dtype)
