"""Random keys that are cheap in small numbers.

Ordinary JAX keys run Threefry as a loop on the CPU, which dominates a step of a small world and its compilation.
These are the same typed keys (``jax.random.split``, ``uniform``, ... all work) over the same cipher, written as plain
arithmetic that XLA fuses with its use: Threefry-2x32 with 13 rounds, the fewest that pass BigCrush according to
Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

import functools
import math
import os

import jax
import jax.numpy as jnp
from jax.extend import random as jax_random
from jaxtyping import Array, ArrayLike, Key, UInt32

from openteam.errors import UserError, check_seed

ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
ROUNDS = 13
PARITY = 0x1BD11BDA
# The second counter word keeps the three uses of a key apart.
BITS, SPLIT, FOLD = range(3)


@functools.partial(jax.jit, static_argnames="rounds", inline=True)
def threefry(key: UInt32[Array, "2"], low: Array, high: Array, rounds: int = ROUNDS) -> tuple[Array, Array]:
    """Encrypt two counter words. Inlined where it is traced, so XLA fuses it; one program where it is not."""
    schedule = (key[0], key[1], key[0] ^ key[1] ^ jnp.uint32(PARITY))
    low, high = low + schedule[0], high + schedule[1]
    for number in range(rounds):
        turn = ROTATIONS[number % 8]
        low = low + high
        high = ((high << jnp.uint32(turn)) | (high >> jnp.uint32(32 - turn))) ^ low
        if number % 4 == 3:
            injection = number // 4 + 1
            low = low + schedule[injection % 3]
            high = high + schedule[(injection + 1) % 3] + jnp.uint32(injection)
    return low, high


def _seed(seed: Array) -> UInt32[Array, "2"]:
    return jnp.stack([jnp.zeros((), jnp.uint32), jnp.asarray(seed).astype(jnp.uint32)])


def _split(key: UInt32[Array, "2"], shape: tuple[int, ...]) -> Array:
    counter = jnp.arange(math.prod(shape), dtype=jnp.uint32).reshape(shape)
    return jnp.stack(threefry(key, counter, jnp.full(shape, SPLIT, jnp.uint32)), -1)


def _fold_in(key: UInt32[Array, "2"], data: ArrayLike) -> UInt32[Array, "2"]:
    return jnp.stack(threefry(key, jnp.asarray(data).astype(jnp.uint32), jnp.uint32(FOLD)))


def _random_bits(key: UInt32[Array, "2"], width: int, shape: tuple[int, ...]) -> Array:
    if width == 64:
        return _random_bits(key, 32, (*shape, 2)).view(jnp.uint64)[..., 0]
    size = math.prod(shape)
    half = (size + 1) // 2
    words = threefry(key, jnp.arange(half, dtype=jnp.uint32), jnp.full(half, BITS, jnp.uint32))
    return jnp.concatenate(words)[:size].reshape(shape).astype(f"uint{width}")


FUSED = jax_random.define_prng_impl(
    key_shape=(2,), seed=_seed, split=_split, random_bits=_random_bits, fold_in=_fold_in, name="fused", tag="fused"
)


def key(seed: int) -> Key[Array, ""]:
    """The root of all randomness of a run; of JAX's own kind if the environment says OPENTEAM_KEYS=jax."""
    check_seed(seed)
    kind = os.environ.get("OPENTEAM_KEYS", "fused")
    if kind not in ("fused", "jax"):
        raise UserError(f"OPENTEAM_KEYS is 'fused' (ours, faster on a CPU) or 'jax'; got '{kind}'.")
    return jax.random.key(seed, impl=FUSED if kind == "fused" else None)


def materialise_key(key: Key[Array, "*batch"]) -> Key[Array, "*batch"]:
    """The same key, computed once. Otherwise XLA computes it again in every use: quick to run, slow to compile."""
    data = jax.lax.optimization_barrier(jax.random.key_data(key))
    return jax.random.wrap_key_data(data, impl=jax.random.key_impl(key))
