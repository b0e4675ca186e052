"""Training steps of networks, written once for all systems.

A system is a module such as system_pytorch.py. Its class System makes layers, whose parameters it draws in the order in
which they are made, so that all systems start with the same ones; it also has the functions that networks call. Tensors
of all systems have operators, `reshape`, `swapaxes`, `mean` and indices alike.
"""
import math
import random
from collections.abc import Callable
from typing import NamedTuple

SEED = 1


class Drawn:
    """What the systems share: numbers that are the same in each, and the parameters so far."""

    def __init__(self):
        self.random = random.Random(SEED)
        self.parameters = []

    def words(self, count):
        """Random words of 32 bits, as bytes."""
        return self.random.randbytes(4 * count)

    def take_parameters(self):
        """Those that were made since the last call."""
        taken, self.parameters = self.parameters, []
        return taken


def scale_of(shape):
    """The bound of uniform parameters of a shape (outputs, inputs, ...): He's for weights, a small one for biases."""
    return 0.05 if len(shape) == 1 else (6 / math.prod(shape[1:])) ** 0.5


class Part(NamedTuple):
    """A part of a training step: a loss, and the optimiser that takes its gradients."""

    loss: Callable
    optimizer: object


class Steps:
    """Called with a number of units, it does so many training steps."""

    FIRST = 3  # losses of so many steps are kept

    def __init__(self, system, parts):
        self.system, self.parts = system, [Part(system.compiled(part.loss), part.optimizer) for part in parts]
        self.first = []

    def __call__(self, units):
        for _ in range(units):
            for loss_of, optimizer in self.parts:
                loss = loss_of()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                if len(self.first) < self.FIRST * len(self.parts):
                    self.first.append(loss.detach())

    def forget_peak(self):
        self.system.forget_peak()

    def figures(self):
        return {"losses": [loss.item() for loss in self.first], **self.system.figures()}


def chain(*layers):
    def run(x):
        for layer in layers:
            x = layer(x)
        return x

    return run


def classifier(s, net, images, classes, channels, height, lr=0.01, momentum=0.9):
    """A part that trains a net on images that are the same in every step."""
    x, labels = s.normal(images, channels, height, height), s.integers(classes, images)
    return [Part(lambda: s.cross_entropy(net(x), labels), s.sgd(s.take_parameters(), lr, momentum))]


def conv_norm(s, inputs, outputs, kernel, stride=1, groups=1, activation=True):
    layers = [
        s.conv(inputs, outputs, kernel, stride=stride, padding=kernel // 2, groups=groups, bias=False),
        s.batch_norm(outputs),
    ]
    return chain(*layers, s.relu) if activation else chain(*layers)


def resnet18(s, images, size, classes=1000):
    def block(inputs, outputs, stride):
        body = chain(
            conv_norm(s, inputs, outputs, 3, stride), conv_norm(s, outputs, outputs, 3, activation=False)
        )
        changes = stride != 1 or inputs != outputs
        beside = conv_norm(s, inputs, outputs, 1, stride, activation=False) if changes else lambda x: x
        return lambda x: s.relu(body(x) + beside(x))

    widths = (64, 64, 128, 256, 512)
    blocks = []
    for stage, (inputs, outputs) in enumerate(zip(widths, widths[1:])):
        blocks += [block(inputs, outputs, 1 if stage == 0 else 2), block(outputs, outputs, 1)]
    stem = [conv_norm(s, 3, 64, 7, 2), s.max_pool(3, 2, 1)]
    net = chain(*stem, *blocks, s.global_mean, s.dense(512, classes))
    return classifier(s, net, images, classes, 3, size)


def densenet(s, images=32, size=32, blocks=3, layers=8, growth=16, channels=32):
    def layer(inputs):
        new = chain(s.batch_norm(inputs), s.relu, s.conv(inputs, growth, 3, padding=1, bias=False))
        return lambda x: s.concat([x, new(x)], 1)

    body = [s.conv(3, channels, 3, padding=1, bias=False)]
    for number in range(blocks):
        for _ in range(layers):
            body.append(layer(channels))
            channels += growth
        if number + 1 < blocks:
            narrow = s.conv(channels, channels // 2, 1, bias=False)
            body.append(chain(s.batch_norm(channels), s.relu, narrow, s.avg_pool(2)))
            channels //= 2
    net = chain(*body, s.batch_norm(channels), s.relu, s.global_mean, s.dense(channels, 10))
    return classifier(s, net, images, 10, 3, size)


def mobilenet(s, images=16, size=96):
    """Depthwise convolutions, each with one of 1x1 behind it, as in MobileNet's first version."""
    separable = lambda inputs, outputs, stride: chain(
        conv_norm(s, inputs, inputs, 3, stride, groups=inputs), conv_norm(s, inputs, outputs, 1)
    )
    widths = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1), (512, 1), (1024, 2))
    body, inputs = [conv_norm(s, 3, 32, 3, 2)], 32
    for outputs, stride in widths:
        body.append(separable(inputs, outputs, stride))
        inputs = outputs
    net = chain(*body, s.global_mean, s.dense(inputs, 100))
    return classifier(s, net, images, 100, 3, size)


def vgg11(s, images=32, size=64):
    body, inputs = [], 3
    for outputs, pooled in ((64, 1), (128, 1), (256, 0), (256, 1), (512, 0), (512, 1), (512, 0), (512, 1)):
        body.append(s.conv(inputs, outputs, 3, padding=1, activation="relu"))
        body += [s.max_pool(2)] * pooled
        inputs = outputs
    features = 512 * (size // 32) ** 2
    dense = (s.dense(features, 1024, "relu"), s.dense(1024, 1024, "relu"), s.dense(1024, 10))
    return classifier(s, chain(*body, s.flatten, *dense), images, 10, 3, size, lr=1e-4)


def unet(s, images=4, size=128, width=32, depth=3):
    pair = lambda inputs, outputs: chain(conv_norm(s, inputs, outputs, 3), conv_norm(s, outputs, outputs, 3))
    down = [pair(3 if level == 0 else width << level - 1, width << level) for level in range(depth)]
    bottom = pair(width << depth - 1, width << depth)
    up = [pair(3 * (width << level), width << level) for level in reversed(range(depth))]
    head, pool = s.conv(width, 2, 1), s.max_pool(2)

    def net(x):
        beside = []
        for layer in down:
            x = layer(x)
            beside.append(x)
            x = pool(x)
        x = bottom(x)
        for layer in up:
            x = layer(s.concat([s.doubled(x), beside.pop()], 1))
        return head(x)

    x, labels = s.normal(images, 3, size, size), s.integers(2, images * size * size)
    pixels = lambda: net(x).swapaxes(1, 2).swapaxes(2, 3).reshape(-1, 2)
    return [Part(lambda: s.cross_entropy(pixels(), labels), s.sgd(s.take_parameters(), 0.01, 0.9))]


def lenet(s, images=256):
    net = chain(
        *(s.conv(1, 6, 5, padding=2, activation="relu"), s.max_pool(2)),
        *(s.conv(6, 16, 5, activation="relu"), s.max_pool(2), s.flatten),
        *(s.dense(400, 120, "relu"), s.dense(120, 84, "relu"), s.dense(84, 10)),
    )
    return classifier(s, net, images, 10, 1, 28, momentum=0)


def next_words(s, net, words, shape):
    """A part that predicts the words which follow, with Adam."""
    x, following = s.integers(words, *shape), s.integers(words, shape[0] * shape[1])
    loss = lambda: s.cross_entropy(net(x).reshape(-1, words), following)
    return [Part(loss, s.adam(s.take_parameters(), 1e-3))]


def recurrent(kind):
    def build(s, steps=35, sequences=32, words=10_000, features=256):
        layers = s.embedding(words, features), getattr(s, kind)(features, features, 2), s.dense(features, words)
        return next_words(s, chain(*layers), words, (steps, sequences))

    return build


def transformer(s, blocks, features, heads, causal):
    """Blocks that normalise first, and a last normalisation: a function of x and a mask."""

    def block():
        attention, norm1, norm2 = s.attention(features, heads, causal), s.layer_norm(features), s.layer_norm(features)
        dense = chain(s.dense(features, 4 * features, "gelu"), s.dense(4 * features, features))

        def run(x, mask):
            x = x + attention(norm1(x), mask)
            return x + dense(norm2(x))

        return run

    layers, norm = [block() for _ in range(blocks)], s.layer_norm(features)

    def run(x, mask=None):
        for layer in layers:
            x = layer(x, mask)
        return norm(x)

    return run


def gpt(s, sequences=8, length=256, words=256, blocks=6, features=384, heads=6):
    embedding, places = s.embedding(words, features), s.parameter(length, features)
    body, head = transformer(s, blocks, features, heads, causal=True), s.dense(features, words, bias=False)
    return next_words(s, lambda x: head(body(embedding(x) + places)), words, (sequences, length))


def vit(s, images=32, size=64, patch=8, features=192, blocks=6, heads=3):
    patches, count = s.conv(3, features, patch, stride=patch), (size // patch) ** 2
    places, body, head = s.parameter(count, features), transformer(s, blocks, features, heads, False), s.dense(features, 10)
    tokens = lambda x: patches(x).reshape(images, features, count).swapaxes(1, 2) + places
    return classifier(s, lambda x: head(body(tokens(x)).mean(1)), images, 10, 3, size)


def bert(s, sequences=16, length=128, words=8_000, features=256, blocks=4, heads=4):
    """Every word is predicted; the ends of all sequences but one are padding, which no word attends to."""
    embedding, places = s.embedding(words, features), s.parameter(length, features)
    body, head = transformer(s, blocks, features, heads, causal=False), s.dense(features, words)
    lengths = s.integers(length // 2, sequences).reshape(sequences, 1, 1, 1) + length // 2
    mask = s.arange(length).reshape(1, 1, 1, length) < lengths
    return next_words(s, lambda x: head(body(embedding(x) + places, mask)), words, (sequences, length))


def dlrm(s, samples=512, tables=8, rows=100_000, features=32):
    embeddings = [s.embedding(rows, features) for _ in range(tables)]
    bottom = chain(s.dense(13, 128, "relu"), s.dense(128, features, "relu"))
    pairs = (tables + 1) ** 2
    top = chain(s.dense(features + pairs, 256, "relu"), s.dense(256, 128, "relu"), s.dense(128, 1))
    x, y = s.normal(samples, 13), s.integers(2, samples, 1)
    indices = [s.integers(rows, samples) for _ in range(tables)]
    signs = s.floating(1 - 2 * y)  # -1 for 1

    def loss():
        dense = bottom(x)
        parts = [dense, *(embedding(index) for embedding, index in zip(embeddings, indices))]
        every = s.concat([part.reshape(samples, 1, features) for part in parts], 1)
        dots = (every @ every.swapaxes(1, 2)).reshape(samples, pairs)
        return s.softplus(signs * top(s.concat([dense, dots], 1))).mean()

    return [Part(loss, s.sgd(s.take_parameters(), 0.01, 0))]


def wavenet(s, sequences=4, length=4096, channels=32, layers=10, values=64):
    """Causal convolutions over ever longer distances, with gates; the inputs are values of a signal."""
    embedding = s.embedding(values, channels)
    gated = []
    for distance in (2**number for number in range(layers)):
        pair = [s.conv1d(channels, channels, 2, dilation=distance) for _ in range(2)]
        gated.append((distance, *pair, s.conv1d(channels, channels, 1), s.conv1d(channels, channels, 1)))
    head = chain(s.relu, s.conv1d(channels, 128, 1), s.relu, s.conv1d(128, values, 1))

    def net(x):
        x, total = embedding(x).swapaxes(1, 2), None
        for distance, filtered, gate, onwards, aside in gated:
            before = s.padded_left(x, distance)
            z = s.tanh(filtered(before)) * s.sigmoid(gate(before))
            total = aside(z) if total is None else total + aside(z)
            x = x + onwards(z)
        return head(total).swapaxes(1, 2)

    return next_words(s, net, values, (sequences, length))


def gan(s, samples=128, noise=64, features=784):
    """A step of the discriminator, then one of the generator."""
    make = chain(s.dense(noise, 256, "relu"), s.dense(256, 512, "relu"), s.dense(512, features), s.tanh)
    of_generator = s.adam(s.take_parameters(), 2e-4)
    judge = chain(s.dense(features, 512, "relu"), s.dense(512, 256, "relu"), s.dense(256, 1))
    of_judge = s.adam(s.take_parameters(), 2e-4)
    real, z = s.normal(samples, features), s.normal(samples, noise)
    judged = lambda: s.softplus(-judge(real)).mean() + s.softplus(judge(make(z).detach())).mean()
    return [Part(judged, of_judge), Part(lambda: s.softplus(-judge(make(z))).mean(), of_generator)]


class Network(NamedTuple):
    what: str
    build: Callable  # system, sizes by name -> list of Part
    units: int = 1  # steps that are timed together
    batch_norm: bool = False


NETWORKS = {
    "resnet18_96": Network("ResNet-18 on 32 images 96×96", lambda s: resnet18(s, 32, 96), batch_norm=True),
    "resnet18_224": Network("ResNet-18 on 8 images 224×224", lambda s: resnet18(s, 8, 224), batch_norm=True),
    "densenet": Network("DenseNet, 3 blocks of 8 layers, on 32 images 32×32", densenet, batch_norm=True),
    "mobilenet": Network("a MobileNet of 9 depthwise convolutions on 16 images 96×96", mobilenet, batch_norm=True),
    "vgg11": Network("VGG-11 on 32 images 64×64", vgg11),
    "unet": Network("a U-Net of 3 levels on 4 images 128×128", unet, batch_norm=True),
    "lenet": Network("LeNet on 256 images 28×28", lenet, units=5),
    "lstm": Network("2 layers LSTM of 256 on 32 sequences of 35 words out of 10,000", recurrent("lstm")),
    "gru": Network("the same with GRU", recurrent("gru")),
    "gpt": Network("GPT, 6 blocks of 384 features, on 8 sequences of 256", gpt),
    "vit": Network("a vision transformer, 6 blocks of 192, on 32 images 64×64 in patches 8×8", vit),
    "bert": Network("an encoder, 4 blocks of 256, on 16 sequences of 128 words with padding masks", bert),
    "dlrm": Network("DLRM with 8 tables of 100,000×32, whose gradients are dense, on 512 samples", dlrm, units=5),
    "wavenet": Network("a WaveNet of 10 gated layers of 32 channels on 4 signals of 4096 values", wavenet),
    "gan": Network("a GAN of dense layers on 128 samples of 784 numbers, a step of either part", gan, units=5),
}


def workloads(make_system):
    """The workloads `network_*`, name -> function that prepares it; make_system() makes a system for one network."""

    def prepare(network):
        system = make_system()
        return Steps(system, network.build(system))

    return {f"network_{name}": lambda network=network: prepare(network) for name, network in NETWORKS.items()}
