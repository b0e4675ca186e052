"""The workloads that systems do, by name."""
from typing import NamedTuple

from networks import NETWORKS


class Workload(NamedTuple):
    what: str  # one unit of it; figures are for one unit
    cpu: int = 0  # how many a system does on a CPU before it waits for all of them, and reads the clock; 0: not done
    gpu: int = 0  # the same on a GPU
    peers: tuple | None = None  # who does it; None: all
    like: str | None = None  # asyncgrad alone does it, and is compared with what peers took for this one


def trials(units, what, *names):
    """Workloads that PyTorch does, too, each an operation or a layer and its gradient unless `what` says otherwise."""
    return {name: Workload(what.format(name.rsplit("_", 1)[-1]), cpu=units, peers=("pytorch",)) for name in names}


TRIALS = {
    **trials(
        10,
        "a product, without gradient, of 2²¹ float32 elements in rows of {} with a column",
        *(f"trial_broadcast_{n}" for n in (4, 32, 63, 64)),
    ),
    **trials(20, "pow(x, {}) of 1024×512 elements", "trial_pow_2", "trial_pow_3"),
    **trials(1, "the sum of the squares of {} slices (1, 64, 64) of one tensor", "trial_slices_256", "trial_slices_1024"),
    **trials(10, "softmax of 2²¹ elements in rows of {}", *(f"trial_softmax_{n}" for n in (8, 32, 64, 1024))),
    **trials(10, "sums of 2²¹ elements in rows of {}", *(f"trial_sum_{n}" for n in (4, 32, 1024))),
    **trials(5, "a convolution 3×3 of 32 images, 32 → 64 channels, {0}×{0}", "trial_conv_28"),
    **trials(5, "the maxima of windows 2×2 of 64 images, 64 channels, {0}×{0}", "trial_max_pool_28"),
    **trials(5, "the means of windows 2×2 of 64 images, 64 channels, {0}×{0}", "trial_avg_pool_28"),
    **trials(
        20, "BatchNorm in training of 64 images, 64 channels, {0}×{0}", *(f"trial_batch_norm_{n}" for n in (4, 7, 16))
    ),
    **trials(10, "LayerNorm of 2¹⁹ elements in rows of {}", *(f"trial_layer_norm_{n}" for n in (32, 64, 256, 512, 1024))),
    **trials(3, "causal attention of 4 sequences of {}, 8 heads of 64", "trial_attention_512"),
    **trials(10, "attention of 8 sequences of {}, 4 heads of 32", "trial_attention_128"),
    **trials(3, "an LSTM over 32 sequences of 64 steps, {0} → {0}", "trial_lstm_128"),
    **trials(3, "a GRU over 32 sequences of 64 steps, {0} → {0}", "trial_gru_128"),
    **trials(3, "a TransformerBlock of 4 heads on 8 sequences of 128, {} features", "trial_transformer_128"),
    **trials(10, "a training step of LeNet on 64 images {0}×{0}, with SGD", "trial_lenet_28"),
}

BOOK = "1000×1000 numbers from N(0, 1) and the product of that matrix with itself, float32; "

WORKLOADS = {
    "increments_async": Workload("`y = y + 1` on a 1×2 tensor, a wait after the last of 10,000", cpu=10_000),
    "increments_sync": Workload("`y = y + 1` on a 1×2 tensor and a wait for it", cpu=10_000),
    "tiny_mlp_step": Workload(
        "a training step: Dense 4→4 relu →1, the same batch of 2, mean L2 loss, backward, SGD", cpu=1_000
    ),
    "small_mlp_step": Workload(
        "a training step: Dense 64→64 relu →10, the same batch of 32, mean cross-entropy, backward, SGD", cpu=500
    ),
    "chapter_step": Workload(
        "a training step: Dense 512→2048 relu →512 relu →1, a batch of 1024 drawn anew from N(0, 1), ones as labels, "
        "mean L2 loss, backward, SGD; float32",
        cpu=10,
        gpu=200,
    ),
    "chapter_step_graph": Workload("the same, its launches replayed by LaunchGraph", gpu=200, like="chapter_step"),
    "chapter_step_tf32": Workload(
        "a step with products in TF32: MathMode::tf32; PyTorch's set_float32_matmul_precision('high')", gpu=200
    ),
    "chapter_step_tf32_graph": Workload(
        "the same, its launches replayed by LaunchGraph", gpu=200, like="chapter_step_tf32"
    ),
    "chapter_step_bf16": Workload(
        "a step with products in bf16: MathMode::bf16; PyTorch's set_float32_matmul_precision('medium')",
        cpu=10,
        peers=("pytorch",),
    ),
    "randn": Workload("10⁶ numbers from N(0, 1), float32", cpu=10, gpu=100),
    "sgd_momentum": Workload(
        "SGD's update, with momentum, of 10⁷ float32 parameters; PyTorch's fused one", cpu=10, peers=("pytorch",)
    ),
    "adam": Workload("Adam's update of 10⁷ float32 parameters; PyTorch's fused one", cpu=10, peers=("pytorch",)),
    **{
        f"product_{n}": Workload(
            f"a product of two {n}×{n} float32 matrices", cpu=max(1, 4000 // n), peers=("pytorch", "numpy")
        )
        for n in (64, 256, 1000, 4000)
    },
    "products": Workload(BOOK + "a wait after the last of 10", gpu=10),
    "products_queued": Workload(BOOK + "until the last of 10 is queued, on a device that has nothing else to do", gpu=10),
    **TRIALS,
}

# asyncgrad's Python package does these, beside what peers took for the workload that each is like.
PYTHON = {
    "python_increments": Workload("`y = y + 1` in Python, a wait after the last", cpu=10_000, like="increments_async"),
    "python_increments_waited": Workload("the same and a wait for each", cpu=10_000, like="increments_sync"),
    "python_increments_mxnet": Workload(
        "the same by MXNet's names, a wait after the last", cpu=10_000, like="increments_async"
    ),
    "python_tiny_step": Workload("the training step of tiny_mlp_step in Python", cpu=1_000, like="tiny_mlp_step"),
    "python_chapter_epoch": Workload("the training step of chapter_step in Python", cpu=10, like="chapter_step"),
    "python_asnumpy": Workload("a copy of 1000×1000 float32 elements into an array of NumPy", cpu=10, peers=("numpy",)),
}
WORKLOADS |= PYTHON

OF_NETWORKS = {
    f"network_{name}": Workload(
        f"a training step of {network.what}; float32", cpu=network.units, gpu=10, peers=("pytorch", "pytorch_compiled")
    )
    for name, network in NETWORKS.items()
}
WORKLOADS |= OF_NETWORKS

# Workloads that can be asked for together. Their ratios have a mean, and benchmarks/RESULTS.md has a part for each
# group.
GROUPS = {
    "basics": tuple(name for name in WORKLOADS if name not in TRIALS | PYTHON | OF_NETWORKS),
    "trials": tuple(TRIALS),
    "python": tuple(PYTHON),
    "networks": tuple(OF_NETWORKS),
}
BY_DEFAULT = ("basics", "trials", "python")  # the other groups take an hour each
IN_PYTHON = (*PYTHON, *OF_NETWORKS)  # asyncgrad does these by its Python package


# Systems that do no more than these. To compile the networks takes longer than a GPU has time for them.
STEPS = ("chapter_step", "chapter_step_tf32")
ONLY = {
    "cpu": {
        "numpy": ("randn", "python_asnumpy", *(workload for workload in WORKLOADS if workload.startswith("product_"))),
        "pytorch_compiled": (*STEPS, *OF_NETWORKS),
    },
    "cuda": {"pytorch_compiled": STEPS, "pytorch_graphs": STEPS},
}


def type_of(device):
    """"cuda" of "cuda:0"."""
    return device.split(":")[0]


def units(workload, device):
    """How many of a workload are timed together on a device; 0 if the workload is not for it."""
    return WORKLOADS[workload].cpu if device == "cpu" else WORKLOADS[workload].gpu


def does(system, workload, device="cpu"):
    """Whether a system does a workload of the device at all."""
    if system == "asyncgrad":
        return True
    peers, like = WORKLOADS[workload].peers, WORKLOADS[workload].like
    only = ONLY[type_of(device)].get(system, WORKLOADS)
    return like is None and (peers is None or system in peers) and workload in only
