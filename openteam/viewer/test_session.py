"""What a page is told: frames of an episode, answers to what if, a rival's decisions, and scores."""

import dataclasses
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.compile_cache import once_jit
from openteam.core.types import View
from openteam.core.view import meet
from openteam.errors import UserError
from openteam.viewer.episode import Episode
from openteam.viewer.moments import episode_keys
from openteam.viewer.session import Session
from openteam.viewer.what_if import read_changes

CLOSE = {"rel": 1e-4, "abs": 1e-5}  # frames have five digits
SEED = 5


@pytest.fixture(scope="module")
def episode(stage):
    played = Episode.start(stage.task, stage.player, SEED)
    list(played.play(stage.task.horizon))
    assert len(played.frames) > 3
    return played


@pytest.fixture(scope="module")
def values(stage):
    """The learner's values in a world's state, computed without the viewer."""

    @once_jit
    def decide(world, moment, key):
        k_view, k_decide, _ = jax.random.split(key, 3)
        obs = stage.task.observe(k_view, world)
        new, _ = meet(moment.env.visits, moment.seen_before, obs.visible)
        view = View(obs, moment.env.clock == 0, new, moment.env.previous_actions[0])
        return stage.player.policy.decide(k_decide, moment.memory, view).explanation

    def at(episode, number, change=lambda world: world):
        moment = episode.moments[number]
        world = change(jax.tree.map(jnp.asarray, moment.env.world))
        return decide(world, moment, episode_keys(episode.seed, int(moment.env.clock))[0])

    return at


def answer(session, **message):
    (only,) = session.answer(message)
    return only


def test_frames_tell_what_happened(stage, episode):
    first, last = episode.frames[0], episode.frames[-1]
    assert [frame["step"] for frame in episode.frames] == list(range(len(episode.frames)))
    assert first["present"] == [0, 1, 2]
    assert last["over"]
    assert "why" not in last
    for before, after in itertools.pairwise(episode.frames):
        assert after["returns"] == pytest.approx(np.add(before["returns"], after["reward"]))
        assert before["actions"][0] == before["why"]["action"]
    agents = {agent["slot"]: agent for agent in first["scene"]["agents"]}
    row, column = np.asarray(episode.moments[0].env.world.position)[0].tolist()
    assert agents[0]["at"] == [column + 0.5, row + 0.5]
    assert agents[0]["text"] == str(int(episode.moments[0].env.world.level[0]))


def test_values_are_shares_of_own_and_pairs_up_to_what_all_actions_have_in_common(episode):
    explained = [frame["why"] for frame in episode.frames[:-1]]
    for why in explained:
        rest = np.array(why["values"]) - why["singular_share"] - why["pairwise_share"]
        rounding = CLOSE["rel"] * np.abs(why["values"]).max()
        np.testing.assert_allclose(rest, rest[0], rtol=0, atol=rounding)
    assert max(np.ptp(why["pairwise_share"]) for why in explained) > 1e-3
    assert max(np.ptp(why["singular_share"]) for why in explained) > 1e-3


def test_the_same_seed_is_the_same_episode_and_another_is_another(stage, episode):
    again = Episode.start(stage.task, stage.player, SEED)
    other = Episode.start(stage.task, stage.player, SEED + 1)
    list(again.play(2))
    assert again.frames[:2] == episode.frames[:2]
    assert other.frames[0]["scene"] != episode.frames[0]["scene"]


def test_without_a_teammate_values_are_those_that_the_policy_has_there(episode, values):
    asked = read_changes(episode.task, episode.at(1), [{"remove": 1}])
    frame = episode.ask(1, asked)
    gone = jnp.arange(4) == 1
    expected = values(episode, 1, lambda world: episode.task.world.dismiss(world, gone)).action_values
    assert 1 not in frame["present"]
    assert frame["why"]["values"] == pytest.approx(np.asarray(expected), **CLOSE)
    assert frame["why"]["values"] != episode.frames[1]["why"]["values"]
    assert episode.without_each(1)[1] == pytest.approx(np.asarray(expected), **CLOSE)


def test_moved_elsewhere_values_are_those_that_the_policy_has_there(episode, values):
    taken = {tuple(np.floor(thing["at"])) for part in episode.frames[1]["scene"].values() for thing in part}
    x, y = next(cell for cell in itertools.product(range(5), range(5)) if cell not in taken)
    asked = read_changes(episode.task, episode.at(1), [{"move": 2, "at": [x + 0.3, y + 0.9]}])
    frame = episode.ask(1, asked)

    def move(world):
        return eqx.tree_at(lambda w: w.position, world, world.position.at[2].set(jnp.array([y, x])))

    assert frame["why"]["values"] == pytest.approx(np.asarray(values(episode, 1, move).action_values), **CLOSE)
    assert frame["why"]["values"] != episode.frames[1]["why"]["values"]


def test_with_a_known_action_values_are_the_average_over_joint_actions_that_have_it(episode, values):
    why = values(episode, 1)
    frame = episode.ask(1, read_changes(episode.task, episode.at(1), [{"set": 2, "action": 3}]))
    chances = np.array(why.predicted)
    chances[2] = np.eye(6)[3]
    others = [slot for slot in episode.frames[1]["present"] if slot > 0]
    expected = np.zeros(6)
    for mine, *rest in itertools.product(range(6), repeat=1 + len(others)):
        acting = dict(zip([0, *others], [mine, *rest], strict=True))
        joint = sum(float(why.singular[slot, action]) for slot, action in acting.items())
        joint += sum(float(why.pairwise[j, k, acting[j], acting[k]]) for j, k in itertools.combinations(acting, 2))
        expected[mine] += joint * np.prod([chances[slot, acting[slot]] for slot in others])
    assert frame["why"]["values"] == pytest.approx(expected, **CLOSE)
    assert frame["actions"][2] == 3


def test_one_more_is_there_with_its_type_and_place(stage, episode):
    session = Session(stage)
    answer(session, do="new", seed=SEED)
    free = next(
        [x + 0.5, y + 0.5]
        for x, y in itertools.product(range(5), range(5))
        if not any(thing["at"] == [x + 0.5, y + 0.5] for part in episode.frames[0]["scene"].values() for thing in part)
    )
    asked = answer(session, do="ask", episode=0, frame=0, changes=[{"add": 1, "at": free}])["asked"]
    assert asked["present"] == [0, 1, 2, 3]
    assert asked["types"][3] == 1
    assert next(agent["at"] for agent in asked["scene"]["agents"] if agent["slot"] == 3) == free
    with pytest.raises(UserError, match="taken"):
        answer(session, do="ask", episode=0, frame=0, changes=[{"add": 1, "at": free}, {"add": 0, "at": free}])


def test_a_branch_without_changes_goes_on_as_the_episode_did_and_with_one_it_keeps_it(stage, episode):
    same = episode.branch(1, read_changes(stage.task, episode.at(1), []))
    list(same.play(stage.task.horizon))
    assert same.frames == episode.frames
    alone = episode.branch(0, read_changes(stage.task, episode.at(0), [{"remove": 1}, {"remove": 2}]))
    assert alone.frames[0]["present"] == [0]
    told = episode.branch(0, read_changes(stage.task, episode.at(0), [{"set": 1, "action": 2}]))
    assert told.frames[0]["actions"][1] == 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([{"remove": 0}], "at least 1"),
        ([{"remove": 3}], "Nobody is in slot 3"),
        ([{"add": 0, "at": [9, 9]}], "not on the 5 by 5 grid"),
        ([{"add": 7, "at": [0, 0]}], "at most 1"),
        ([{"move": 1, "at": [0, "x"]}], "two numbers"),
        ([{"set": 1, "action": 6}], "at most 5"),
        ([{"fly": 1}], "one of remove, add, move and set"),
        ([{}] * 65, "at most 64"),
    ],
)
def test_changes_that_cannot_be_made_get_a_sentence(stage, changes, words):
    session = Session(stage)
    answer(session, do="new", seed=SEED)
    with pytest.raises(UserError, match=words):
        answer(session, do="ask", episode=0, frame=0, changes=changes)


@pytest.mark.parametrize("seat", [0, 1])
def test_a_person_who_acts_as_others_would_gets_what_they_get(stage, seat):
    session = Session(stage)
    episode = answer(session, do="new", seed=SEED, seat=seat)["opened"]["id"]
    with pytest.raises(UserError, match="goes on with 'act'"):
        answer(session, do="more", episode=episode, count=1)
    while not session.episodes[episode].over:
        usual = int(session.episodes[episode].looks[-1].actions[seat])
        answer(session, do="act", episode=episode, action=usual)
    score = answer(session, do="score")["score"]
    rows = {row["name"]: row for row in score["rows"]}
    you, usual = (score["rows"][number] for number in (0, 1))
    assert (score["seat"], score["episodes"]) == (seat, 1)
    assert (you["seat"], you["learner"]) == pytest.approx((usual["seat"], usual["learner"]))
    assert {"you", "H1", "H4"} < rows.keys()


def test_a_person_acts_in_its_seat(stage):
    session = Session(stage)
    answer(session, do="new", seed=SEED, seat=1)
    frames = answer(session, do="act", episode=0, action=4)["frames"]
    assert frames[0]["actions"][1] == 4


def test_two_runs_are_compared_on_the_same_seed(stage, episode):
    parts = list(Session(stage).answer({"do": "compare", "seed": SEED}))
    sides = ({}, {})
    for part in parts:
        sides[part["side"]].update(enumerate(part["frames"], part["first"]))
    rival = Episode.start(stage.task, stage.rival, SEED)
    list(rival.play(stage.task.horizon))
    others = [part["other"] for part in parts if "other" in part]
    assert list(sides[0].values()) == episode.frames
    assert list(sides[1].values()) == rival.frames
    assert others[0] == rival.frames[0]["why"]["action"]
    assert len(others) == len(episode.looks)


def test_a_run_compared_with_itself_never_differs(stage, episode):
    twin = dataclasses.replace(stage, rival=stage.player)
    others = [part["other"] for part in Session(twin).answer({"do": "compare", "seed": SEED}) if "other" in part]
    assert others == [frame["why"]["action"] for frame in episode.frames[:-1]]
    with pytest.raises(UserError, match="nobody to compare with"):
        list(Session(dataclasses.replace(stage, rival=None)).answer({"do": "compare", "seed": SEED}))


def test_old_episodes_are_forgotten(stage, episode):
    session = Session(stage)
    for _ in range(26):
        session.opened(episode)
    assert len(session.episodes) == 24
    with pytest.raises(UserError, match="not kept any more"):
        session.find({"episode": 0})
