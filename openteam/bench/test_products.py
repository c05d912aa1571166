"""Products are those that a program does: as often as its loops go round, and none that nobody uses."""

from collections import Counter

import jax
import jax.numpy as jnp
import pytest

from openteam.bench.products import Product, products_of, repeated, seconds_alone, total_flops

F32 = ("float32",) * 3
PLAIN = (((1,), (0,)), ((), ()))
WIDE = Product((4, 8), (8, 16), PLAIN, F32)
A, B = jnp.ones((4, 8)), jnp.ones((8, 16))


def test_flops_are_two_per_multiplication():
    assert WIDE.flops == 2 * 4 * 8 * 16
    batched = Product((5, 4, 8), (5, 8, 16), (((2,), (1,)), ((0,), (0,))), F32)
    assert batched.flops == 5 * WIDE.flops


def test_a_loop_counts_as_often_as_it_goes_round():
    def looped(a, b):
        inner = lambda a, _: (a, jax.lax.scan(lambda a, _: (a + 1, a @ b), a, length=3)[1])  # noqa: E731
        return jax.lax.scan(inner, a, length=2)[1], a @ b

    assert products_of(looped, A, B) == Counter({WIDE: 7})


def test_gradients_and_calls_within_count_and_what_is_unused_does_not():
    def loss(b):
        unused = A @ (2 * b)
        del unused
        return jax.jit(lambda x: (x @ b).sum())(A)

    found = products_of(jax.value_and_grad(loss), B)
    assert sum(found.values()) == 2
    assert total_flops(found) == 2 * WIDE.flops


def test_of_two_branches_the_larger_counts_and_masks_are_no_products():
    def branches(a, b):
        mask = (a > 0) @ (b > 0)
        return jax.lax.cond(a[0, 0] > 0, lambda: a @ b, lambda: jnp.zeros((4, 16))), mask

    assert products_of(branches, A, B) == Counter({WIDE: 1})


def test_nobody_knows_how_often_a_while_loop_goes_round():
    with pytest.raises(ValueError, match="while loop"):
        products_of(lambda a, b: jax.lax.while_loop(lambda x: x.sum() < 9, lambda x: x + (a @ b), a @ b), A, B)


def test_a_repeated_product_is_not_done_once_and_kept():
    text = jax.jit(lambda a, b: repeated(WIDE, 50, a, b)).lower(A, B).compile().as_text()
    assert " dot(" in text[: text.index("ENTRY")]  # in the loop's body, not before it
    assert seconds_alone(Counter({WIDE: 50}), 0.0) > 0


def test_a_product_of_nothing_is_none():
    assert products_of(lambda a: jnp.zeros((4, 0)) @ a, jnp.ones((0, 8))) == Counter()
