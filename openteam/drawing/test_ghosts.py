"""Ghosts: a belief is where it belongs, as strong as it is held, and changes nothing of the episode."""

import contextlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image

import openteam
from openteam.algorithms.presets import ALGORITHMS
from openteam.commands.record import Record
from openteam.core.policy import AbstractMemoryless, Belief, Decision, Explanation
from openteam.drawing.annotations import CAPTION
from openteam.drawing.ghosts import GHOST, believed_agents, check_ghosts, draw_ghosts, locating
from openteam.drawing.record import draw_frames, record_all
from openteam.errors import UserError
from openteam.teammates import Uniform

WORLD = openteam.Foraging(size=5)
TASK = openteam.Task(name="brief", world=WORLD, openness=openteam.Closed(), pool=openteam.Pool((Uniform(),)), horizon=4)
UNIT = 20  # pixels a cell
PINK = tuple(int(GHOST[at : at + 2], 16) for at in (1, 3, 5))


class Sure(AbstractMemoryless):
    """Moves at random and believes what it sees, or, if it is no seer, nothing of where anybody is."""

    seer: bool = True

    def decide(self, key, memory, view):
        exists = view.obs.visible[None].astype(jnp.float32)
        action = jax.random.randint(key, (), 0, len(view.obs.legal))
        belief = Belief(jnp.ones(1), exists, None, view.obs.agents[None] if self.seer else None, None)
        return Decision(action, memory, Explanation(belief=belief))


def believe(*hypotheses):
    """A belief in hypotheses of equal weight, each a list of (row, column, probability) of slots 0, 1, ..."""
    rows = jnp.asarray(hypotheses, jnp.float32)
    agents = jnp.concatenate([rows[..., :2], jnp.ones((*rows.shape[:2], 1))], -1)
    return Belief(jnp.full(len(rows), 1 / len(rows)), rows[..., 2], None, agents, None)


def pinkness(belief, paper=200):
    """How much each cell of an empty picture turns towards the ghosts' colour: 0 is not at all."""
    blank = np.full((5 * UNIT, 5 * UNIT, 3), paper, np.uint8)
    drawn = draw_ghosts(blank, WORLD, belief)
    share = np.abs(drawn.astype(float) - paper).sum(-1) / np.abs(np.array(PINK) - paper).sum()
    return share.reshape(5, UNIT, 5, UNIT).mean((1, 3))


NOBODY = (0, 0, 0.0)


def test_a_ghost_is_in_its_cell_and_nowhere_else():
    pink = pinkness(believe([NOBODY, (1, 3, 1.0)]))
    assert pink[1, 3] > 0.2
    assert np.delete(pink.ravel(), 1 * 5 + 3).max() == 0


def test_a_ghost_between_two_cells_is_in_both():
    pink = pinkness(believe([NOBODY, (1, 2.5, 1.0)]))
    assert pink[1, 2] == pytest.approx(pink[1, 3], rel=0.05)
    assert pink[1, 2] > 0.1


def test_a_ghost_is_as_strong_as_the_probability_that_somebody_exists():
    none, little, half, sure = (pinkness(believe([NOBODY, (1, 3, p)]))[1, 3] for p in (0.0, 0.2, 0.5, 1.0))
    assert none == 0
    assert little == pytest.approx(0.2 * sure, rel=0.05)
    assert half == pytest.approx(0.5 * sure, rel=0.05)


def test_the_learner_itself_is_no_ghost():
    assert pinkness(believe([(2, 2, 1.0), NOBODY])).max() == 0


def test_hypotheses_that_agree_add_up_and_others_make_a_cloud():
    sure = pinkness(believe([NOBODY, (1, 3, 1.0)]))
    agreed = pinkness(believe([NOBODY, (1, 3, 1.0)], [NOBODY, (1, 3, 1.0)]))
    apart = pinkness(believe([NOBODY, (1, 3, 1.0)], [NOBODY, (4, 0, 1.0)]))
    np.testing.assert_allclose(agreed, sure, atol=0.01)
    assert apart[1, 3] == pytest.approx(0.5 * sure[1, 3], rel=0.05)
    assert apart[4, 0] == pytest.approx(0.5 * sure[1, 3], rel=0.05)


def test_a_belief_off_the_grid_is_drawn_at_its_edge():
    np.testing.assert_allclose(pinkness(believe([NOBODY, (-3, 7, 1.0)])), pinkness(believe([NOBODY, (0, 4, 1.0)])))


def test_the_believed_number_counts_the_learner_and_weighs_hypotheses():
    belief = believe([NOBODY, (1, 1, 1.0), (1, 1, 1.0)], [NOBODY, (1, 1, 0.5), (1, 1, 0.0)])
    assert believed_agents(belief) == pytest.approx(2.25)


@pytest.fixture(scope="module")
def episode():
    return openteam.record(Sure(), TASK, seed=1, belief=True)


@pytest.fixture(scope="module")
def plain():
    return openteam.record(Sure(), TASK, seed=1)


def test_a_belief_is_kept_of_every_state_that_was_acted_on(episode):
    assert (len(episode.beliefs), len(episode.states)) == (4, 5)
    for state, belief in zip(episode.states, episode.beliefs, strict=False):
        assert (belief.agents[0] == WORLD.features(state)[0]).all()
    assert len(episode.until(2).beliefs) == len(episode.until(2).states) == 3


def test_an_episode_is_the_same_with_and_without_its_beliefs(episode, plain):
    assert not plain.beliefs
    assert (plain.rewards == episode.rewards).all()
    assert all((a.position == b.position).all() for a, b in zip(plain.states, episode.states, strict=True))


def test_pictures_have_ghosts_around_who_is_believed_in_until_the_last_state(episode, plain):
    haunted, empty = (np.stack(draw_frames(TASK, one))[:, CAPTION : CAPTION + 240, :240] for one in (episode, plain))
    changed = (haunted != empty).any(-1).reshape(5, 5, 48, 5, 48).any((2, 4))
    for state, cells in zip(episode.states[:-1], changed, strict=False):
        assert {tuple(cell) for cell in np.argwhere(cells)} == {tuple(cell) for cell in state.position[1:].tolist()}
    assert not changed[-1].any()


def test_the_caption_says_how_many_are_believed_in_the_ghosts_colour(episode):
    words = np.asarray(draw_frames(TASK, episode)[0], int)[:CAPTION]
    assert (words[..., 0] - words[..., 1] > 80).any()  # the others are grey


@pytest.mark.parametrize("policy", [openteam.UniformRandom(), Sure(seer=False)])
def test_a_learner_that_believes_nobody_to_be_anywhere_is_refused(policy):
    with pytest.raises(UserError, match=rf"{type(policy).__name__} does not infer.*ae-gpl, vae-gpl or pf-gpl"):
        record_all(policy, TASK, belief=True)


@pytest.mark.parametrize(("name", "able"), [("gpl-q", False), ("ae-gpl", True)])
def test_which_algorithms_can_be_drawn(name, able):
    learner = ALGORITHMS[name]()

    def check():
        policy = learner.frozen(learner.init(jax.random.key(0), TASK.spec).model)
        check_ghosts(policy, TASK, "my-run")

    with contextlib.nullcontext() if able else pytest.raises(UserError, match="my-run does not"):
        jax.eval_shape(check)  # no number is needed


def test_a_world_that_cannot_place_agents_is_refused():
    with pytest.raises(UserError, match=r"FortAttack cannot tell.*locate\(agents\)"):
        locating(openteam.FortAttack())


def test_the_command_draws_ghosts(tmp_path, monkeypatch):
    monkeypatch.setattr("openteam.commands.record.make", {"brief": TASK}.__getitem__)
    monkeypatch.setattr("openteam.commands.record.find_policy", lambda name, task: Sure())
    Record("brief", tmp_path / "x.gif", policy=("run",), belief=True)()
    with Image.open(tmp_path / "x.gif") as picture:
        assert picture.n_frames == 5
        assert (np.abs(np.asarray(picture.convert("RGB"))[CAPTION:].astype(int) - PINK) < 8).all(-1).any()
