"""Learned types: files that are believed only when intact, and members that keep their own numbers."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.core import random
from openteam.core.types import Observation, Spec, first_view
from openteam.errors import UserError
from openteam.models.policy import NetworkPolicy
from openteam.storage.checkpoint import save_tree
from openteam.storage.config import from_json, to_json
from openteam.teammates.learned import Learned
from openteam.teammates.pool import Pool
from openteam.teammates.weights_file import Member, Sizes, Skill, Weights, alone

SIZES = Sizes(agent_features=2, shared_features=1, actions=4, width=6)


def member(name: str) -> Member:
    return Member(name, f"{name} waits.", "openteam ...", 0, 10, None, Skill("lbf", 1.0, 0.5, 1.5, 8))


def policy(favourite: int, temperature: float = 0.0) -> NetworkPolicy:
    """A network that leans to one action."""
    rng = np.random.default_rng(favourite)
    blank = jax.eval_shape(SIZES.blank, jax.random.key(0)).network
    network = jax.tree.map(lambda leaf: jnp.asarray(0.1 * rng.normal(size=leaf.shape), jnp.float32), blank)
    network = eqx.tree_at(lambda n: n.out.bias, network, 2.0 * (jnp.arange(4) == favourite))
    return NetworkPolicy(network, jnp.asarray(temperature), jnp.asarray(False))


@pytest.fixture
def path(tmp_path):
    file = alone(member("first"), SIZES, policy(1))
    file = file.adding(member("second"), SIZES, policy(2)).adding(member("third"), SIZES, policy(3, 1.0))
    file.write(tmp_path / "w.safetensors")
    return tmp_path / "w.safetensors"


def observations(slots: int = 3) -> Observation:
    rng = np.random.default_rng(0)
    one = Observation(
        jnp.asarray(rng.normal(size=(slots, 2)), jnp.float32), jnp.ones(1), jnp.ones(slots, bool), jnp.ones(4, bool)
    )
    return jax.tree.map(lambda leaf: jnp.stack([leaf] * slots), one)


def test_every_slot_acts_as_the_member_that_is_its_type(path):
    pool, obs = Pool((Learned(str(path), ("second", "first")),)), observations()
    types = jnp.array([0, 1, 0])
    actions, _ = eqx.filter_jit(pool.act)(random.key(0), types, pool.start(3), first_view(obs))
    assert actions.tolist() == [2, 1, 2]


def test_temperatures_are_the_members_own(path):
    family = Learned(str(path))
    obs = jax.tree.map(lambda leaf: leaf[0], observations())

    @jax.jit
    def draw(index):
        keys = jax.random.split(random.key(1), 300)
        member = family.member(index)
        return jax.vmap(lambda key: member.act(key, member.start(3), first_view(obs))[0])(keys)

    assert len(set(draw(jnp.asarray(0)).tolist())) == 1
    assert len(set(draw(jnp.asarray(2)).tolist())) > 1


def test_members_are_named_and_described_and_all_of_them_by_default(path):
    assert Learned(str(path)).names == ("first", "second", "third")
    assert Learned(str(path), ("third",)).sentences == ("third waits.",)


def test_a_member_of_the_same_name_is_replaced(path):
    file = Weights.read(path).adding(member("first"), SIZES, policy(0))
    assert [one.name for one in file.members] == ["second", "third", "first"]
    for one, other in zip(jax.tree.leaves(file.policy(2)), jax.tree.leaves(policy(0)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_was_written_is_read(path):
    file = Weights.read(path)
    assert file.members[1] == member("second")
    for one, other in zip(jax.tree.leaves(file.policy(1)), jax.tree.leaves(policy(2)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_networks_of_another_size_need_a_file_of_their_own(path):
    with pytest.raises(UserError, match="equal sizes"):
        Weights.read(path).adding(member("wide"), dataclasses.replace(SIZES, width=7), policy(0))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UserError, match=r"no learned teammates at .*nothing\.safetensors"):
        Learned(str(tmp_path / "nothing.safetensors"))


def test_a_shipped_file_is_looked_for_in_the_package():
    with pytest.raises(UserError, match=r"openteam/teammates/weights/atlantis\.safetensors"):
        Learned("atlantis")


def test_a_damaged_file_is_named(path):
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"w\.safetensors is damaged"):
        Learned(str(path))


def test_a_file_of_something_else_is_refused(tmp_path):
    save_tree(tmp_path / "x.safetensors", {"a": jnp.ones(2)}, {"kind": "policy"})
    with pytest.raises(UserError, match="holds no teammates"):
        Learned(str(tmp_path / "x.safetensors"))


def test_an_unknown_member_is_named_with_those_there_are(path):
    with pytest.raises(UserError, match=r"no learned teammate 'fourth' here. There are: first, second, third"):
        Learned(str(path), ("fourth",))


def test_a_family_holds_names_and_no_arrays(path):
    assert not jax.tree.leaves(Learned(str(path)))


def test_a_world_with_other_features_is_refused(path):
    with pytest.raises(UserError, match=r"know \d+ features of an agent.*this world has 1, 2 and 3"):
        Learned(str(path)).check(Spec(1, 2, 3))


def test_a_configuration_notices_when_its_members_have_other_numbers(path):
    config = to_json(Learned(str(path), ("first",)))
    Weights.read(path).adding(member("fourth"), SIZES, policy(0)).write(path)
    assert from_json(config).names == ("first",)  # somebody else's arrival changes nothing
    Weights.read(path).adding(member("first"), SIZES, policy(0)).write(path)
    now = to_json(Learned(str(path), ("first",)))["sha256"]
    with pytest.raises(UserError, match=f"names first.* sha256 was {config['sha256'][:12]} and is {now[:12]}"):
        from_json(config)
