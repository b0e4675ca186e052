"""Images: FashionMNIST and MNIST from IDX files in a folder."""
import gzip
import os
import struct

import numpy as _np

from .... import np
from .. import ArrayDataset
from . import transforms


class _Images(ArrayDataset):
    def __init__(self, images, labels, transform):
        super().__init__(images, labels.astype("int32"))
        self._transform = transform

    def __getitem__(self, index):
        images, labels = super().__getitem__(index)
        item = np.array(images), np.array(labels)
        return item if self._transform is None else self._transform(*item)


def _folder(root, name):
    home = os.environ.get("MXNET_HOME") or os.path.join("~", ".mxnet")
    return os.path.expanduser(root or os.path.join(home, "datasets", name))


class MNIST(_Images):
    """Images (28, 28, 1) of uint8 and labels of int32, from the folder `root`, where the IDX files lie, plain or as .gz."""

    _name = "mnist"

    def __init__(self, root=None, train=True, transform=None):
        root, part = _folder(root, self._name), "train" if train else "t10k"
        images = _idx(root, f"{part}-images-idx3-ubyte")[..., None]
        super().__init__(images, _idx(root, f"{part}-labels-idx1-ubyte"), transform)


class FashionMNIST(MNIST):
    __doc__ = MNIST.__doc__
    _name = "fashion-mnist"


class CIFAR10(_Images):
    """Images (32, 32, 3) of uint8 and labels of int32, from the folder `root`, where the binary files lie."""

    def __init__(self, root=None, train=True, transform=None):
        files = [f"data_batch_{i}.bin" for i in range(1, 6)] if train else ["test_batch.bin"]
        super().__init__(*_rows(_folder(root, "cifar10"), files, 1, 0), transform)


class CIFAR100(_Images):
    """As CIFAR10, with labels of 20 classes, or of 100 with fine_label."""

    def __init__(self, root=None, fine_label=False, train=True, transform=None):
        files = ["train.bin"] if train else ["test.bin"]
        super().__init__(*_rows(_folder(root, "cifar100"), files, 2, int(fine_label)), transform)


def _rows(root, files, count, place):
    """Images and labels of files whose rows are `count` labels and the channels of an image."""
    rows = []
    for name in files:
        with open(os.path.join(root, name), "rb") as file:
            rows.append(_np.frombuffer(file.read(), "uint8").reshape(-1, count + 3 * 32 * 32))
    rows = _np.concatenate(rows)
    return rows[:, count:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), rows[:, place]


def _idx(root, name):
    for path in (os.path.join(root, name), os.path.join(root, name + ".gz")):
        if os.path.exists(path):
            with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
                data = file.read()
            axes = data[3]
            shape = struct.unpack(f">{axes}I", data[4:4 + 4 * axes])
            return _np.frombuffer(data, "uint8", offset=4 + 4 * axes).reshape(shape)
    raise FileNotFoundError(f"there is neither {name} nor {name}.gz in {root}")
