"""What of MXNet 1.9.1 is missing here, and what a program uses instead: the one table of it.

A module that is missing raises ImportError, a name of a module or a class AttributeError that is a NotImplementedError, too,
so that hasattr() is False; an argument of a function of np and npx raises NotImplementedError. docs/mxnet.md lists the names.
"""
import functools
import importlib.abc
import inspect
import sys

from .multiarray import check_no_others

_TRAINER = "gluon.Trainer(params, 'adam', {'learning_rate': 0.001}) takes an optimizer by its name"
_SYMBOLS = "programs are written with np, npx and gluon, whose calls are queued already"
_RECORDS = "gluon.data.DataLoader over a Dataset of the program"
_FIT = "a loop with autograd.record(), loss.backward() and gluon.Trainer"

# By the name below mxnet.
MODULES = {
    "attribute": _SYMBOLS, "callback": _FIT, "contrib": "np, npx and gluon have what there is",
    "engine": "asyncgrad.set_engine_options()", "executor": _SYMBOLS, "executor_manager": _SYMBOLS, "error": "base.MXNetError",
    "gluon.contrib": "gluon.nn and gluon.rnn have what there is", "gluon.model_zoo": "networks are built of gluon.nn",
    "io": _RECORDS, "kv": "gluon.Trainer adds the gradients of several devices itself",
    "kvstore": "gluon.Trainer adds the gradients of several devices itself", "library": "autograd.Function", "log": "Python's logging",
    "mod": _FIT, "model": _FIT, "module": _FIT, "mon": "Block.register_forward_hook()", "monitor": "Block.register_forward_hook()",
    "name": "Block(prefix=...)", "notebook": "Python's time", "onnx": "asyncgrad.save() writes the parameters as safetensors",
    "operator": "autograd.Function, or asyncgrad.custom()", "optimizer": _TRAINER, "profiler": "asyncgrad.profiler", "recordio": _RECORDS,
    "registry": "a dict", "rnn": "gluon.rnn", "rtc": "asyncgrad.custom()", "runtime": "asyncgrad.engine_options()", "sym": _SYMBOLS,
    "symbol": _SYMBOLS, "test_utils": "numpy.testing", "th": "asyncgrad.torch, or torch.from_dlpack(x)",
    "torch": "asyncgrad.torch, or torch.from_dlpack(x)", "tvmop": "asyncgrad.custom()", "visualization": "Block.summary()",
    "viz": "Block.summary()"}

_OWN = "a function of the program over np and npx"
_LAYER = "a HybridBlock of the program"
_IMAGES = "a function of the program for Dataset.transform()"
_METRIC = "a subclass of metric.EvalMetric"
_FILES = "the program reads the files, for example with Pillow, in a Dataset of its own"

_AUGMENTERS = (
    "Augmenter BrightnessJitterAug CastAug CenterCropAug ColorJitterAug ColorNormalizeAug ContrastJitterAug CreateAugmenter",
    "CreateDetAugmenter CreateMultiRandCropAugmenter DetAugmenter DetBorrowAug DetHorizontalFlipAug DetRandomCropAug",
    "DetRandomPadAug DetRandomSelectAug ForceResizeAug HorizontalFlipAug HueJitterAug LightingAug RandomCropAug RandomGrayAug",
    "RandomOrderAug RandomSizedCropAug ResizeAug SaturationJitterAug SequentialAug")

# By the module or class: a name, or several, and what is used instead.
NAMES = {
    "": {"AttrScope": _SYMBOLS},
    "np": {"deg2rad": "np.radians", "rad2deg": "np.degrees", "min_scalar_type result_type": "numpy's function of the types",
           "mirr npv ppmt pv rate": "the package numpy_financial"},
    "npx": {"batch_norm": "gluon.nn.BatchNorm", "erfinv gamma gammaln": "scipy.special over x.asnumpy()",
            "get_cuda_compute_capability gpu_memory_info": "asyncgrad.devices(), asyncgrad.memory() and asyncgrad.free_bytes()",
            "multibox_detection multibox_target": _OWN,
            "image": "gluon.data.vision.transforms, and mxnet.image", "rnn": "gluon.rnn.LSTM, GRU or RNN"},
    "autograd": {"get_symbol": _SYMBOLS},
    "gluon": {"DeferredInitializationError": "gluon.parameter.DeferredInitializationError", "SymbolBlock": _LAYER},
    "gluon.nn": {"AvgPool3D Conv3D Conv3DTranspose GlobalAvgPool3D GlobalMaxPool3D MaxPool3D": "layers of two axes",
                 "BatchNormReLU": "gluon.nn.BatchNorm() and npx.relu()", "Conv1DTranspose": "gluon.nn.Conv2DTranspose with an axis of extent 1",
                 "GroupNorm InstanceNorm": "gluon.nn.LayerNorm of a reshaped array", "ReflectionPad2D": "np.pad()",
                 "SELU": _LAYER, "SymbolBlock": _LAYER},
    "gluon.rnn": {"HybridRecurrentCell ModifierCell": "gluon.rnn.RecurrentCell", "BidirectionalCell": "gluon.rnn.LSTM(bidirectional=True)", "ResidualCell": "x + cell(x, states)[0]",
                  "ZoneoutCell": "gluon.rnn.DropoutCell"},
    "gluon.loss": {"CTCLoss CosineEmbeddingLoss HingeLoss KLDivLoss LogisticLoss PoissonNLLLoss SDMLLoss SquaredHingeLoss TripletLoss": _OWN},
    "gluon.data": {"RecordFileDataset": _RECORDS},
    "gluon.data.vision": {"ImageFolderDataset ImageRecordDataset": _FILES},
    "gluon.data.vision.transforms": {"RandomApply RandomBrightness RandomColorJitter RandomContrast RandomHue RandomLighting RandomRotation "
                                     "RandomSaturation Rotate": _IMAGES},
    "image": {**dict.fromkeys(_AUGMENTERS, _IMAGES), "ImageDetIter ImageIter": _RECORDS, "imdecode": _FILES,
              "imrotate random_rotate rotate": _IMAGES, "copyMakeBorder": "np.pad()", "random_size_crop": "transforms.RandomResizedCrop",
              "resize_short": "image.imresize() with the sizes of image.scale_down()"},
    "metric": {"CompositeEvalMetric": "a list of metrics", "create": "the class itself, as in metric.Accuracy()",
               "CustomMetric F1 MCC PCC PearsonCorrelation Perplexity": _METRIC,
               "Caffe Torch": "metric.Loss"},
    "init": {"Bilinear FusedRNN LSTMBias Mixed Orthogonal": "a subclass of init.Initializer", "Load load": "Block.load_parameters()"},
    "nd": {"array zeros ones arange full empty": "the function of np with that name", "load save": "npx.load() and npx.save()",
           "NDArray": "np.ndarray", "random": "np.random", "dot": "np.dot", "concat stack": "np.concatenate() and np.stack()"},
    "np.ndarray": {
        "arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil degrees diag fix nanprod nansum ones_like pad radians reciprocal rint sort "
        "tan trunc zeros_like": "the function of np with that name",
        "pick shape_array slice topk": "the function of npx with that name", "argmax_channel": "x.argmax(axis=1)",
        "broadcast_axes broadcast_like": "np.broadcast_to()", "depth_to_space space_to_depth": "x.reshape() and np.transpose()",
        "rcbrt": "1 / np.cbrt(x)", "reshape_view": "x.reshape()", "size_array": "x.size", "softmin": "npx.softmax(-x)", "split_v2": "np.split()",
        "slice_assign slice_assign_scalar slice_like": "an index, as in x[1:3] = y", "to_dlpack_for_read to_dlpack_for_write": "x.__dlpack__()",
        "tostype": "arrays that keep all elements", "writable": "arrays that may always be written"},
    "gluon.Parameter": {"list_row_sparse_data row_sparse_data": "data() and list_data()", "var": _SYMBOLS},
    "gluon.ParameterDict": {"list_ctx": "list_ctx() of each parameter", "load_dict": "set_data() of each parameter"},
    "gluon.Trainer": {"load_states save_states": "asyncgrad.Checkpoint of an optimizer of asyncgrad.optim",
                      "optimizer": "learning_rate and set_learning_rate()"},
    "gluon.Block": {"load save": "load_parameters() and save_parameters()",
                    "register_op_hook": "register_forward_hook() and register_forward_pre_hook()"},
    "gluon.HybridBlock": {"export": "save_parameters(), and load_parameters() of a block that the program makes again", "infer_type": "cast()",
                          "optimize_for": "the block as it is, whose calls are queued already"}}


class Missing(NotImplementedError, AttributeError):
    """A name of MXNet that is missing here."""


def sentence(name):
    """What an error says of a name below mxnet; None if the table does not have it."""
    module, _, last = name.rpartition(".")
    instead = MODULES.get(name) or next((hint for row, hint in NAMES.get(module, {}).items() if last in row.split()), None)
    return instead and f"mxnet.{name} is missing in asyncgrad. Instead there is: {instead}"


class _Finder(importlib.abc.MetaPathFinder):
    """Comes after Python's own finders, for modules that are in the table."""

    def __init__(self, package):
        self._package = package

    def find_spec(self, fullname, path=None, target=None):
        prefixes = [self._package]
        if sys.modules.get("mxnet") is sys.modules.get(self._package):  # after install()
            prefixes.append("mxnet")
        for prefix in prefixes:
            text = sentence(fullname[len(prefix) + 1:]) if fullname.startswith(f"{prefix}.") else None
            if text:
                raise ImportError(text, name=fullname)
        return None


def _asks(module, name_here):
    def __getattr__(name):
        text = sentence(f"{module}.{name}" if module else name)
        raise Missing(text) if text else AttributeError(f"module {name_here!r} has no attribute {name!r}")

    return __getattr__


class _Absent:
    """What a class has in place of a name that is missing: it raises where the name is read."""

    def __init__(self, name):
        self._name = name

    def __get__(self, instance, kind):
        raise Missing(sentence(self._name))


def _dir_without_absent(self):
    """Programs that read every attribute which dir() names go on doing so."""
    return [name for name in object.__dir__(self) if not isinstance(inspect.getattr_static(self, name, None), _Absent)]


def _refusing_others(label, function):
    """The function, which says of arguments that it does not have that they are missing."""
    parameters = inspect.signature(function).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return function  # does so itself

    @functools.wraps(function)
    def call(*args, **kwargs):
        others = kwargs.keys() - parameters.keys()
        if others:
            check_no_others(label, {name: kwargs.pop(name) for name in others})
        return function(*args, **kwargs)

    return call


def tell(package):
    """Lets the package's modules, which are loaded, and Python's imports say what the table says."""
    for name in ("np", "np.linalg", "np.random", "npx"):
        space = functools.reduce(getattr, name.split("."), sys.modules[package]).__dict__
        for public in [key for key, value in space.items() if inspect.isfunction(value) and not key.startswith("_")]:
            space[public] = _refusing_others(f"{name}.{public}", space[public])
    for name in {*NAMES, *(name.rpartition(".")[0] for name in MODULES)}:
        space = functools.reduce(getattr, filter(None, name.split(".")), sys.modules[package])
        if inspect.isclass(space):
            for last in " ".join(NAMES[name]).split():
                setattr(space, last, _Absent(f"{name}.{last}"))
            space.__dir__ = _dir_without_absent
        else:
            space.__getattr__ = _asks(name, space.__name__)
    sys.meta_path.append(_Finder(package))
