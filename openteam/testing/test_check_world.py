"""The suite passes worlds that keep the contract and says of others what they break."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.core.world import AbstractWorld, AbstractWorldState
from openteam.errors import UserError
from openteam.testing import check_world
from openteam.worlds.lbf import Foraging


class PathState(AbstractWorldState):
    present: jax.Array
    position: jax.Array
    flag: jax.Array


def draw_cells(key, number):
    """Random enough, and far quicker to compile than jax.random."""
    bits = jax.random.key_data(key).sum() >> 7
    return ((bits + 7 * jnp.arange(number, dtype=jnp.uint32)) % 10).astype(jnp.int32)


class Path(AbstractWorld[PathState]):
    """Agents walk a path of ten cells, now and then pushed by the wind; whoever is at its end is rewarded.

    The task is over when somebody present has taken the flag, which flies in a random cell.
    """

    @property
    def actions(self):
        return 3

    def start(self, key, present):
        cells = draw_cells(key, len(present) + 1)
        return PathState(present, cells[1:], cells[0])

    def step(self, key, state, actions):
        wind = draw_cells(key, len(actions)) == 9
        position = jnp.clip(state.position + actions - 1 + wind, 0, 9)
        position = jnp.where(state.present, position, state.position)
        reward = ((position == 9) & state.present).astype(jnp.float32)
        return PathState(state.present, position, state.flag), reward, ((position == state.flag) & state.present).any()

    def dismiss(self, state, leaving):
        return PathState(state.present & ~leaving, state.position, state.flag)

    def admit(self, key, state, joining):
        cells = draw_cells(key, len(joining))
        return PathState(state.present | joining, jnp.where(joining, cells, state.position), state.flag)

    def legal(self, state):
        return jnp.stack([state.position > 0, jnp.ones_like(state.present), state.position < 9], 1)

    def features(self, state):
        position = jnp.where(state.present, state.position, -1)
        return position[:, None].astype(jnp.float32), state.flag[None].astype(jnp.float32)

    def check(self, slots):
        if slots > 50:
            raise UserError(f"A path holds 50 agents; got {slots}.")


def test_foraging_keeps_the_contract():
    check_world(Foraging(), slots=(4,))


def test_a_small_world_of_ones_own_keeps_the_contract_for_any_team():
    check_world(Path(), slots=(1, 3), steps=400)


def test_a_team_that_does_not_fit_is_the_worlds_own_to_refuse():
    with pytest.raises(UserError, match="A path holds 50 agents; got 51"):
        check_world(Path(), slots=(51,))


class NoActions(Path):
    @property
    def actions(self):
        return 0


class FloatingPosition(Path):
    def step(self, key, state, actions):
        after, reward, over = super().step(key, state, actions)
        return eqx.tree_at(lambda s: s.position, after, after.position * 1.0), reward, over


class GrowingFlag(Path):
    def admit(self, key, state, joining):
        return eqx.tree_at(lambda s: s.flag, super().admit(key, state, joining), jnp.zeros(2, jnp.int32))


class LosesFlag(Path):
    def dismiss(self, state, leaving):
        return eqx.tree_at(lambda s: s.flag, super().dismiss(state, leaving), None)


class TeamReward(Path):
    def step(self, key, state, actions):
        after, reward, over = super().step(key, state, actions)
        return after, reward.sum(), over


class OverForEach(Path):
    def step(self, key, state, actions):
        after, reward, _ = super().step(key, state, actions)
        return after, reward, after.position == after.flag


class LegalAsNumbers(Path):
    def legal(self, state):
        return super().legal(state).astype(jnp.float32)


class FlatFeatures(Path):
    def features(self, state):
        agents, shared = super().features(state)
        return agents[:, 0], shared


class Branches(Path):
    def step(self, key, state, actions):
        if state.flag > 5:
            return super().step(key, state, actions)
        return super().step(key, state, 2 - actions)


class Dice(Path):
    def step(self, key, state, actions):
        luck = np.random.default_rng().integers(0, 10**6)
        after, reward, over = super().step(key, state, actions)
        return after, reward * luck, over


class DicedStart(Path):
    def start(self, key, present):
        luck = np.random.default_rng().integers(0, 10**6)
        return eqx.tree_at(lambda s: s.flag, super().start(key, present), jnp.array(luck, jnp.int32))


class InvitesAll(Path):
    def start(self, key, present):
        return super().start(key, jnp.ones_like(present))


class Cliff(Path):
    def step(self, key, state, actions):
        after, reward, over = super().step(key, state, actions)
        return self.dismiss(after, (after.position == 0) & (jnp.arange(len(actions)) > 0)), reward, over


class Clinging(Path):
    def dismiss(self, state, leaving):
        return state


class Closed(Path):
    def admit(self, key, state, joining):
        return state


class Speed(Path):
    def step(self, key, state, actions):
        after, reward, over = super().step(key, state, actions)
        return after, reward / (after.position - state.position), over


class Gaps(Path):
    def features(self, state):
        agents, shared = super().features(state)
        return jnp.where(state.present[:, None], agents, jnp.nan), shared


class Pension(Path):
    def step(self, key, state, actions):
        after, _, over = super().step(key, state, actions)
        return after, (after.position == 9).astype(jnp.float32), over


class Ghosts(Path):
    def step(self, key, state, actions):
        after, reward, over = super().step(key, state, actions)
        return after, reward * (actions == 2).all(), over


class Paralysed(Path):
    def legal(self, state):
        return super().legal(state) & (state.position < 9)[:, None]


class Shuffled(Path):
    def admit(self, key, state, joining):
        everyone = jnp.ones_like(joining)
        position = super().admit(key, state, everyone).position
        return PathState(state.present | joining, position, state.flag)


class Footprints(Path):
    def features(self, state):
        return state.position[:, None].astype(jnp.float32), state.flag[None].astype(jnp.float32)


class Crowd(Path):
    def features(self, state):
        agents, _ = super().features(state)
        return agents, agents[:, 0]


@pytest.mark.parametrize(
    ("world", "sentence"),
    [
        (NoActions(), "there are 0 actions; agents need at least one"),
        (FloatingPosition(), "step turned state.position from int32[3] into float32[3]. A state keeps its shapes"),
        (GrowingFlag(), "admit turned state.flag from int32[] into int32[2]. A state keeps its shapes and dtypes"),
        (LosesFlag(), "Return the same class with equal static fields"),
        (TeamReward(), "the reward is float32[]; expected float[3]. Change its shape or cast it"),
        (OverForEach(), "whether the task is over is bool[3]; expected bool[]"),
        (LegalAsNumbers(), "legal is float32[3, 3]; expected bool[3, 3]"),
        (FlatFeatures(), "the first of the features is float32[3]; expected float[3, any]"),
        (Branches(), "step cannot be compiled. Use jnp.where instead of if"),
        (
            Dice(),
            "the same key, state and actions gave two different results. Everything random must",
        ),
        (DicedStart(), "two different results. Everything random must come from the key"),
        (InvitesAll(), "start returned a state with another `present` than the one it was given"),
        (Cliff(), "step changed `present`. Only admit and dismiss may"),
        (Clinging(), "after dismiss, `present` is not what it was without those leaving"),
        (Closed(), "after admit, `present` is not what it was with those joining"),
        (Speed(), "a reward is not finite"),
        (Gaps(), "a feature is not finite. Absent slots need placeholders"),
        (Pension(), "an absent slot got a reward. Its reward must be 0"),
        (Ghosts(), "another action of an absent slot changed what happened to those present"),
        (Paralysed(), "a slot has no legal action. At least one must be True in every row"),
        (Shuffled(), "dismissing and admitting nobody changed what can be seen"),
        (Footprints(), "the features of absent slots vary, such as"),
    ],
    ids=lambda given: type(given).__name__ if isinstance(given, AbstractWorld) else "",
)
def test_a_broken_rule_is_reported_in_a_sentence(world, sentence):
    with pytest.raises(AssertionError) as raised:
        check_world(world, slots=(3,), steps=400)
    message = str(raised.value)
    assert message.startswith(f"{type(world).__name__} with 3 slots: ")
    assert sentence in message


def test_features_with_a_width_that_depends_on_the_team_are_reported():
    with pytest.raises(AssertionError, match=r"widths of features .* are \{2: \(1, 2\), 3: \(1, 3\)\}"):
        check_world(Crowd(), slots=(2, 3), steps=50)
