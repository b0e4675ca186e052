"""The workloads `trial_*` on PyTorch: operations and layers, with the gradients of the sum of their values."""
import torch
from torch import nn
from torch.nn import functional


def with_gradient(shape, function):
    def prepare():
        x = torch.randn(shape, requires_grad=True)

        def run(units):
            for _ in range(units):
                x.grad = None
                function(x).sum().backward()

        return run

    return prepare


def broadcast(columns):
    def prepare():
        rows = 2**21 // columns
        x, column = torch.randn(rows, columns), torch.randn(rows, 1)

        @torch.inference_mode()
        def run(units):
            for _ in range(units):
                x * column

        return run

    return prepare


def in_rows(columns, function):
    return with_gradient((2**21 // columns, columns), function)


def sum_of_slices(x):
    total = torch.zeros(())
    for part in x.split(1):
        total = total + part.square().sum()
    return total


def layer(shape, make):
    def prepare():
        net, x = make(), torch.randn(shape, requires_grad=True)

        def run(units):
            for _ in range(units):
                x.grad = None
                net.zero_grad()
                net(x).sum().backward()

        return run

    return prepare


def attention(shape, causal):
    def run_with(q):
        return functional.scaled_dot_product_attention(q, q, q, is_causal=causal)

    return with_gradient(shape, run_with)


class FirstOf(nn.Module):
    """The first of the results of a module."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)[0]


def transformer_block():
    return nn.TransformerEncoderLayer(
        128, 4, 512, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
    )


def lenet_step():
    net = nn.Sequential(
        *(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
        *(nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)),
    )
    sgd = torch.optim.SGD(net.parameters(), lr=0.01)
    x, labels = torch.randn(64, 1, 28, 28), torch.full((64,), 3)

    def run(units):
        for _ in range(units):
            loss = functional.cross_entropy(net(x), labels)
            sgd.zero_grad()
            loss.backward()
            sgd.step()

    return run


TRIALS = {
    **{f"trial_broadcast_{n}": broadcast(n) for n in (4, 32, 63, 64)},
    "trial_pow_2": with_gradient((1024, 512), lambda x: x**2),
    "trial_pow_3": with_gradient((1024, 512), lambda x: x**3),
    **{f"trial_slices_{n}": with_gradient((n, 64, 64), sum_of_slices) for n in (256, 1024)},
    **{f"trial_softmax_{n}": in_rows(n, lambda x: x.softmax(1)) for n in (8, 32, 64, 1024)},
    **{f"trial_sum_{n}": in_rows(n, lambda x: x.sum(1)) for n in (4, 32, 1024)},
    "trial_conv_28": layer((32, 32, 28, 28), lambda: nn.Conv2d(32, 64, 3)),
    "trial_max_pool_28": with_gradient((64, 64, 28, 28), lambda x: functional.max_pool2d(x, 2)),
    "trial_avg_pool_28": with_gradient((64, 64, 28, 28), lambda x: functional.avg_pool2d(x, 2)),
    **{f"trial_batch_norm_{n}": layer((64, 64, n, n), lambda: nn.BatchNorm2d(64)) for n in (4, 7, 16)},
    **{
        f"trial_layer_norm_{n}": layer((2**19 // n, n), lambda n=n: nn.LayerNorm(n)) for n in (32, 64, 256, 512, 1024)
    },
    "trial_attention_512": attention((4, 8, 512, 64), causal=True),
    "trial_attention_128": attention((8, 4, 128, 32), causal=False),
    "trial_lstm_128": layer((64, 32, 128), lambda: FirstOf(nn.LSTM(128, 128))),
    "trial_gru_128": layer((64, 32, 128), lambda: FirstOf(nn.GRU(128, 128))),
    "trial_transformer_128": layer((8, 128, 128), transformer_block),
    "trial_lenet_28": lenet_step,
}
