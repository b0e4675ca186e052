"""Transforms of images."""
import numpy as _np

from .... import image, np
from ....random import _generator


def _pair(size):
    return (size, size) if isinstance(size, int) else tuple(size)


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
        self._size, self._interpolation = _pair(size), interpolation

    def __call__(self, x):
        return image.imresize(x, *self._size, self._interpolation)


class CenterCrop:
    """The part of a size (width, height), or one for both, in the middle of (H, W, C)."""

    def __init__(self, size, interpolation=1):
        self._size, self._interpolation = _pair(size), interpolation

    def __call__(self, x):
        return image.center_crop(x, self._size, self._interpolation)[0]


class CropResize:
    """The part at (x, y) of a width and height, then resized to size = (width, height)."""

    def __init__(self, x, y, width, height, size=None, interpolation=None):
        self._part = (x, y, width, height, None if size is None else _pair(size), interpolation or 1)

    def __call__(self, x):
        return image.fixed_crop(x, *self._part)


class _RandomFlip:
    def __call__(self, x):
        return np.flip(x, self._axis) if _generator().random() < 0.5 else x


class RandomFlipLeftRight(_RandomFlip):
    """The columns of (H, W, C) in the opposite order, or as they are."""

    _axis = 1


class RandomFlipTopBottom(_RandomFlip):
    """The rows of (H, W, C) in the opposite order, or as they are."""

    _axis = 0


class RandomResizedCrop:
    """A random part of the image's area, of a random ratio of width to height, resized to size (width, height)."""

    def __init__(self, size, scale=(0.08, 1.0), ratio=(3.0 / 4.0, 4.0 / 3.0), interpolation=1):
        self._size, self._scale, self._ratio, self._interpolation = _pair(size), scale, ratio, interpolation

    def __call__(self, x):
        height, width = x.shape[:2]
        generator = _generator()
        for _ in range(10):
            area = generator.uniform(*self._scale) * height * width
            ratio = _np.exp(generator.uniform(*_np.log(self._ratio)))
            w, h = int(round(_np.sqrt(area * ratio))), int(round(_np.sqrt(area / ratio)))
            if 0 < w <= width and 0 < h <= height:
                x0, y0 = (int(generator.integers(0, free + 1)) for free in (width - w, height - h))
                return image.fixed_crop(x, x0, y0, w, h, self._size, self._interpolation)
        return image.center_crop(x, self._size, self._interpolation)[0]


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
