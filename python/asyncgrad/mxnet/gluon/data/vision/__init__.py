"""Images: FashionMNIST and MNIST from IDX files in a folder."""
import gzip
import os
import struct

import numpy as _np

from .... import np
from .. import ArrayDataset
from . import transforms


class MNIST(ArrayDataset):
    """Images (28, 28, 1) of uint8 and labels of int32, from the folder `root`, where the IDX files lie, plain or as .gz."""

    _folder = "mnist"

    def __init__(self, root=None, train=True, transform=None):
        root = root or os.path.join(os.path.expanduser("~"), ".mxnet", "datasets", self._folder)
        part = "train" if train else "t10k"
        images = _idx(root, f"{part}-images-idx3-ubyte")[..., None]
        labels = _idx(root, f"{part}-labels-idx1-ubyte").astype("int32")
        super().__init__(images, labels)
        self._transform = transform

    def __getitem__(self, index):
        images, labels = super().__getitem__(index)
        item = np.array(images), np.array(labels)
        return item if self._transform is None else self._transform(*item)


class FashionMNIST(MNIST):
    __doc__ = MNIST.__doc__
    _folder = "fashion-mnist"


def _idx(root, name):
    for path in (os.path.join(root, name), os.path.join(root, name + ".gz")):
        if os.path.exists(path):
            with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
                data = file.read()
            axes = data[3]
            shape = struct.unpack(f">{axes}I", data[4:4 + 4 * axes])
            return _np.frombuffer(data, "uint8", offset=4 + 4 * axes).reshape(shape)
    raise FileNotFoundError(f"there is neither {name} nor {name}.gz in {root}")
