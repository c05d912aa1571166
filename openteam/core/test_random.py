from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.random import threefry_2x32
from scipy import stats

from openteam.core.random import key, threefry
from openteam.errors import UserError


def test_with_20_rounds_it_is_the_cipher_of_jax():
    secret, counter = jnp.array([7, 11], jnp.uint32), jnp.arange(64, dtype=jnp.uint32)
    ours = jnp.concatenate(threefry(secret, counter[:32], counter[32:], rounds=20))
    np.testing.assert_array_equal(ours, threefry_2x32(secret, counter))


def test_with_13_rounds_it_gives_the_known_answer():
    zero = jnp.zeros((), jnp.uint32)
    low, high = threefry(jnp.zeros(2, jnp.uint32), zero, zero)
    assert (int(low), int(high)) == (0x9D1C5EC6, 0x8BD50731)


@partial(jax.jit, static_argnames="kind")
def draws(kind: str) -> jax.Array:
    """Numbers drawn in bulk, by splitting, and by folding in."""
    root, n = key(3), 50_000
    if kind == "bulk":
        return jax.random.uniform(root, (n,))
    keys = jax.random.split(root, n) if kind == "split" else jax.vmap(partial(jax.random.fold_in, root))(jnp.arange(n))
    return jax.vmap(jax.random.uniform)(keys)


@pytest.mark.parametrize("kind", ["bulk", "split", "fold"])
def test_draws_are_uniform_and_neighbours_are_independent(kind):
    u = np.asarray(draws(kind))
    assert stats.kstest(u, "uniform").pvalue > 1e-3
    table, *_ = np.histogram2d(u[:-1], u[1:], bins=20, range=[[0, 1], [0, 1]])
    assert stats.chisquare(table.ravel()).pvalue > 1e-3


def test_children_of_neighbouring_seeds_and_of_one_parent_are_uncorrelated():
    @jax.jit
    def streams():
        neighbours = [jax.random.uniform(key(seed), (20_000,)) for seed in range(8)]
        siblings = [jax.random.uniform(child, (20_000,)) for child in jax.random.split(key(0), 8)]
        return jnp.stack(neighbours + siblings)

    correlation = np.corrcoef(streams())
    assert np.abs(correlation - np.eye(16)).max() < 5 / 20_000**0.5


def test_the_three_uses_of_a_key_differ():
    data = {
        "bits": jax.random.bits(key(0), (2,)),
        "split": jax.random.key_data(jax.random.split(key(0), 1))[0],
        "fold": jax.random.key_data(jax.random.fold_in(key(0), 0)),
    }
    assert len({tuple(np.asarray(value).tolist()) for value in data.values()}) == 3


@pytest.mark.parametrize("shape", [(), (1,), (5,), (3, 4)])
def test_any_shape_and_width_can_be_drawn(shape):
    for dtype in (jnp.uint8, jnp.uint16, jnp.uint32):
        bits = jax.random.bits(key(1), shape, dtype)
        assert bits.shape == shape
        assert bits.dtype == dtype


def test_jax_keys_can_be_had_instead(monkeypatch):
    monkeypatch.setenv("OPENTEAM_KEYS", "jax")
    assert key(3) == jax.random.key(3)
    monkeypatch.setenv("OPENTEAM_KEYS", "other")
    with pytest.raises(UserError, match=r"'fused' .* or 'jax'; got 'other'"):
        key(3)
