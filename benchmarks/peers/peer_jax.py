"""The workloads on JAX: a training step is one compiled program, an increment is a call."""
import functools

import jax
import jax.numpy as jnp
import stopwatch


def mlp(sizes):
    """Parameters of layers sizes[0] -> sizes[1] -> ..."""
    keys = jax.random.split(jax.random.key(0), len(sizes))
    return [
        (jax.random.normal(key, (ins, outs)) * ins**-0.5, jnp.zeros(outs))
        for key, ins, outs in zip(keys, sizes, sizes[1:])
    ]


def predict(parameters, x):
    for weight, bias in parameters[:-1]:
        x = jax.nn.relu(x @ weight + bias)
    weight, bias = parameters[-1]
    return x @ weight + bias


def training(sizes, loss_of, draw):
    """draw(key) returns the next batch and the next key."""

    @functools.partial(jax.jit, donate_argnums=0)
    def step(state):
        parameters, key = state
        (x, y), key = draw(key)
        loss, gradients = jax.value_and_grad(lambda p: jnp.mean(loss_of(predict(p, x), y)))(parameters)
        return (jax.tree.map(lambda p, g: p - 0.01 * g, parameters, gradients), key), loss

    state = (mlp(sizes), jax.random.key(1))

    def run(units):
        nonlocal state
        for _ in range(units):
            state, _loss = step(state)
        jax.block_until_ready(state)

    return run


def l2_loss(prediction, label):
    return (prediction - label) ** 2 / 2


def cross_entropy(logits, label):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), label[:, None], axis=1)


def tiny_mlp_step():
    batch = jax.random.normal(jax.random.key(2), (2, 4)), jnp.ones((2, 1))
    return training((4, 4, 1), l2_loss, lambda key: (batch, key))


def small_mlp_step():
    batch = jax.random.normal(jax.random.key(2), (32, 64)), jnp.arange(32) % 10
    return training((64, 64, 10), cross_entropy, lambda key: (batch, key))


def chapter_step():
    def draw(key):
        key, drawn = jax.random.split(key)
        return (jax.random.normal(drawn, (1024, 512)), jnp.ones((1024, 1))), key

    return training((512, 2048, 512, 1), l2_loss, draw)


def randn():
    @jax.jit
    def draw(key):
        key, drawn = jax.random.split(key)
        return jax.random.normal(drawn, (1000, 1000)), key

    def run(units):
        key = jax.random.key(0)
        for _ in range(units):
            numbers, key = draw(key)
        numbers.block_until_ready()

    return run


stopwatch.main(
    jax.__version__,
    {
        "increments_async": stopwatch.increments(lambda: jnp.zeros((1, 2)), lambda y: y.block_until_ready()),
        "increments_sync": stopwatch.increments(lambda: jnp.zeros((1, 2)), lambda y: y.block_until_ready(), each=True),
        "tiny_mlp_step": tiny_mlp_step,
        "small_mlp_step": small_mlp_step,
        "chapter_step": chapter_step,
        "randn": randn,
    },
)
