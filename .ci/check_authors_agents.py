"""The authors' networks, as imported, against what their own code answered; and how they play.

    python .ci/check_authors_agents.py FOLDER [--play EPISODES]

FOLDER holds the published files in ``weights`` and recorded inputs and answers in ``vectors``. Every network is
computed on the recorded inputs in 64 bits, where it must agree to 1e-5, and in 32 bits, where the recorded answers
themselves are off by half of ``ALLOWED``. Inputs are made from recorded states by the code that makes them in play.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

os.environ["XDG_DATA_HOME"] = tempfile.mkdtemp()
os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"  # compiling is most
sys.path.insert(0, str(Path(__file__).parents[1]))

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import softmax

from openteam.analysis.skills import play_type, types_of
from openteam.core.types import Observation, View
from openteam.models.layers import MLP
from openteam.prey.authors import FRAMES, PreyNetwork, PublishedPrey, frames
from openteam.registry import make
from openteam.teammates.authors.actor_critic import PublishedForagers, PublishedNavigators, list_agents
from openteam.teammates.authors.fort import PublishedFort, TeamNetwork
from openteam.teammates.authors.graph_dqn import GraphDQN, GraphMemory, LSTMMemory, carry
from openteam.teammates.authors.hunters import Distilled, GraphAgent
from openteam.teammates.authors.importing import import_agents
from openteam.teammates.authors.layers import stacked
from openteam.teammates.authors.published import GROUPS, SIDES
from openteam.teammates.authors.store import read_group
from openteam.teammates.uniform import UniformRandom
from openteam.worlds.wolfpack.state import WolfpackState

EXACT = 1e-5
ALLOWED = {"lbf": 4e-5, "navigation": 8e-5, "prey": 5e-6, "distilled": 1e-4, "graph-dqn": 1e-5, "fort": 2e-3}
"""In 32 bits: about twice by which the recorded answers of 32 bits are off those of 64."""
YARDSTICKS = {
    "wolfpack-authors": {
        "random": "1.5 ± 1.7 in the original; 1.6 ± 0.7 with our hunters",
        "greedy": "-40.3 ± 10.9 in the original; -37.9 ± 3.7 with our hunters",
        "graph-dqn": "16.0 ± 6.7 in the original; 13.8 ± 2.5 with our hunters",
    },
    "lbf-authors": {"a2c-0": "3.43 ± 0.15 with our types"},
    "navigation-partial-authors": {
        "a2c-0": "-0.01 ± 0.02 in the original; 0.00 ± 0.01 with our types",
        "a2c-5": "-0.20 ± 0.12 in the original; 0.30 ± 0.12 with our types",
    },
    "fortattack-authors": {"random": "-4.7 ± 1.5 in the original; -3.66 ± 0.50 in our world"},
}


class Result(NamedTuple):
    """One line of the table."""

    network: str
    inputs: int
    exact: float
    single: float
    allowed: float
    also: str

    @property
    def good(self) -> bool:
        return self.exact <= EXACT and self.single <= self.allowed


def cast(tree: Any, dtype: type) -> Any:
    """All numbers with this many bits."""
    return jax.tree.map(lambda leaf: np.asarray(leaf).astype(dtype), tree)


def largest(ours: Any, theirs: np.ndarray) -> float:
    """The largest difference."""
    return float(np.abs(np.asarray(ours, np.float64) - theirs).max())


def shared_of(data: Any) -> np.ndarray:
    """Positions of both prey, then which way each faces."""
    faces = np.eye(4)[data["facing"].astype(int)].reshape(-1, 8)
    return np.concatenate([data["prey"].reshape(-1, 4), faces], 1)


def equal(what: str, ours: Any, theirs: np.ndarray) -> str:
    """A remark, if two arrays are equal; else the program ends."""
    if not np.array_equal(np.asarray(ours), theirs):
        raise SystemExit(f"{what} differ in {(np.asarray(ours) != theirs).sum()} numbers")
    return f"{what} equal"


def check_actor_critic(group: str, objects: str, data: Any) -> Iterator[Result]:
    """Inputs by the code that plays, and the logits of all ten."""
    cells = data["position"].astype(np.float32)
    seen = data[objects][:, :2].astype(np.float32).reshape(200, -1)
    if group == "lbf":
        cells = np.concatenate([cells, data["level"][..., None]], -1)
        left = data["food_level"] > 0
        foods = np.concatenate([data["food_position"], data["food_level"][..., None]], -1)
        seen = np.where(left[..., None], foods, [-1, -1, 0]).reshape(200, -1)
    listed = jax.jit(jax.vmap(list_agents))(cells, data["present"], data["viewer"].astype(int))
    x = np.concatenate([seen, np.asarray(listed).reshape(200, -1)], 1)
    also = equal("inputs", x, data["x"])
    family = {"lbf": PublishedForagers, "navigation": PublishedNavigators}[group]
    network = family(GROUPS[group].members).networks
    forward = jax.jit(jax.vmap(jax.vmap(MLP.__call__, (0, None)), (None, 0)))
    answers = [forward(cast(network, dtype), x.astype(dtype)) for dtype in (np.float64, np.float32)]
    yield Result(
        f"{group}, 10 actor-critics", 200, largest(answers[0], data["logits_64"]), largest(answers[1], data["logits"]),
        ALLOWED[group], also,
    )  # fmt: skip


def check_prey(data: Any) -> Iterator[Result]:
    """Frames, the queue of five, values and actions of both prey."""
    networks = [PreyNetwork.of(cast(agent["network"], np.float64)) for agent in PublishedPrey().agents.values()]
    present = np.arange(5) < data["n"][:, None]
    everything = (present, *(data[name].astype(np.int32) for name in ("hunters", "prey", "facing")), data["captured"])
    states = WolfpackState(*map(jnp.asarray, everything), jnp.ones((200, 2), bool))
    seen = jax.jit(jax.vmap(lambda state: frames(state, 10)))(states)
    also = equal("frames", seen, data["frame"].astype(int))
    pictures = np.moveaxis(np.asarray(seen, np.float64), -1, 2)
    for number, network in enumerate(networks):
        exact, single = (
            values_of_runs(cast(network, dtype), pictures[:, number].astype(dtype), data["start"])
            for dtype in (np.float64, np.float32)
        )
        same = equal("actions", exact.argmax(-1), data["action"][:, number].astype(int))
        yield Result(
            f"prey {number}", 200, largest(exact, data["q_64"][:, number]), largest(single, data["q"][:, number]),
            ALLOWED["prey"], f"{also}, {same}",
        )  # fmt: skip


def values_of_runs(network: PreyNetwork, pictures: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Values after every picture; a queue of black ones at the start of a run."""
    *read, black = np.asarray(jax.jit(jax.vmap(network.read))(np.concatenate([pictures, 0 * pictures[:1]])))
    queues, queue = [], [black] * FRAMES
    for first, now in zip(start, read, strict=True):
        queue = [*([black] * FRAMES if first else queue)[1:], now]
        queues.append(np.stack(queue))
    return np.asarray(jax.jit(jax.vmap(network.values))(np.stack(queues)))


def check_distilled(data: Any) -> Iterator[Result]:
    """Logits of the viewer, which comes first."""
    state = read_group("wolfpack", "check")["distilled"]["network"]
    cells, there = data["nodes"][..., :2], np.arange(5) < data["n"][:, None]
    also = equal("inputs", shared_of(data), data["shared"])
    answers = []
    for dtype in (np.float64, np.float32):
        network = Distilled.of(cast(state, dtype))
        logits = jax.jit(jax.vmap(network.logits))(cells.astype(dtype), data["shared"].astype(dtype), there)
        answers.append(np.where(there[..., None], np.asarray(logits), 0))
    expected = [np.where(there[..., None], data[name], 0) for name in ("logits_64", "logits")]
    yield Result("distilled", 200, *map(largest, answers, expected), ALLOWED["distilled"], also)


def dense_edges(flat: np.ndarray, n: int) -> np.ndarray:
    """Edges by source and target, of those that are listed by source, then by target."""
    dense = np.zeros((5, 5, flat.shape[-1]), flat.dtype)
    pairs = [(source, target) for source in range(n) for target in range(n) if source != target]
    for row, pair in zip(flat, pairs, strict=False):
        dense[pair] = row
    return dense


def recorded(data: Any, step: int, suffix: str) -> GraphMemory:
    """A memory that was recorded."""
    parts = {name: [data[f"{name}_{part}{suffix}"][step] for part in "hc"] for name in ("edge", "node", "shared")}
    parts["edge"] = [dense_edges(flat, data["n"][step]) for flat in parts["edge"]]
    return GraphMemory(*(LSTMMemory(*part) for part in parts.values()))


def check_graph_dqn(data: Any) -> Iterator[Result]:
    """From its own memory on, in 64 bits; each step from the recorded memory, in 32; and as it plays."""
    state = read_group("wolfpack", "check")["graph-dqn"]["network"]
    networks = [GraphDQN.of(cast(state, dtype)) for dtype in (np.float64, np.float32)]
    steps = [eqx.filter_jit(network.step) for network in networks]
    blank = memory = cast(networks[0].start(5), np.float64)
    carry_over = jax.jit(carry)
    worst = {"q_64": 0.0, "q": 0.0, "memory": 0.0, "carried": 0.0}
    for t in range(200):
        there = np.arange(5) < data["n"][t]
        seen = data["hunters"][t].astype(np.float64), data["shared"][t].astype(np.float64)
        before = blank
        if not data["start"][t]:
            before = carry_over(memory, data["kept"][t], int(data["n"][t]))
            again = carry_over(recorded(data, t - 1, ""), data["kept"][t], int(data["n"][t]))
            worst["carried"] = max(worst["carried"], farthest(again, recorded(data, t, "_in")))
        values, memory = steps[0](before, *seen, there)
        worst["q_64"] = max(worst["q_64"], largest(values[: data["n"][t]], data["q_64"][t, : data["n"][t]]))
        single, after = steps[1](recorded(data, t, "_in"), *cast(seen, np.float32), there)
        worst["q"] = max(worst["q"], largest(single[: data["n"][t]], data["q"][t, : data["n"][t]]))
        worst["memory"] = max(worst["memory"], farthest(after, recorded(data, t, "")))
    if worst["carried"] > 0 or worst["memory"] > 5e-5:
        raise SystemExit(f"The graph DQN's memory differs: {worst}")
    also = f"memory carried over equal, memory after a step within {worst['memory']:.1e}, {as_played(data, state)}"
    yield Result("graph DQN", 200, worst["q_64"], worst["q"], ALLOWED["graph-dqn"], also)


def farthest(ours: Any, theirs: Any) -> float:
    """The largest difference of two trees."""
    return max(map(largest, jax.tree.leaves(ours), map(np.asarray, jax.tree.leaves(theirs))))


def as_played(data: Any, state: Any) -> str:
    """The policy of a pool on the recorded runs: occupants of slots come and go, the list is its own business."""
    network = GraphDQN.of(state)
    act = jax.jit(lambda slot, memory, view: GraphAgent(network, slot).act(jax.random.key(0), memory, view))
    start = jax.tree.map(np.asarray, GraphAgent(network, jnp.asarray(0)).start(5))
    slots: list[int] = []  # the slot of every place in the list
    wrong, memory, own = 0, None, 0
    for t in range(200):
        n = int(data["n"][t])
        stayed = [] if data["start"][t] else [slot for slot, kept in zip(slots, data["kept"][t], strict=False) if kept]
        free = (slot for slot in range(5) if slot not in stayed)
        slots = stayed + [next(free) for _ in range(n - len(stayed))]
        viewer = slots[int(data["own"][t])]
        if data["start"][t]:
            memory, own = start, viewer
        assert viewer == own, "the recorded agent never leaves"
        agent, there = np.full((5, 2), -1.0, np.float32), np.zeros(5, bool)
        agent[slots], there[slots] = data["hunters"][t, :n], True
        new = there & ~np.isin(np.arange(5), stayed)
        order = np.arange(5)
        order[[0, viewer]] = viewer, 0
        obs = Observation(agent[order], data["shared"][t], there[order], np.ones(5, bool))
        action, memory = act(viewer, memory, View(obs, data["start"][t], new[order], np.int32(-1)))
        wrong += int(action) != data["action"][t]
    if wrong:
        raise SystemExit(f"The graph DQN's policy acts otherwise in {wrong} of 200 steps")
    return "actions of the policy equal"


def check_fort(data: Any) -> Iterator[Result]:
    """Both sides of all seven files."""
    agents = PublishedFort().agents.values()
    for side, own, others in zip(SIDES, (slice(5), slice(5, 10)), (slice(5, 10), slice(5)), strict=True):
        answers, odds = [], []
        for dtype in (np.float64, np.float32):
            networks = stacked([TeamNetwork.of(cast(agent[side], dtype)) for agent in agents])
            rows = data["obs"].astype(dtype)
            forward = jax.jit(jax.vmap(jax.vmap(TeamNetwork.__call__, (None, 0, 0)), (0, None, None)))
            answers.append(forward(networks, rows[:, own], rows[:, others]))
        name = f"{side.removesuffix('s')}_logits"
        exact = data[f"{name}_64"]
        odds = [softmax(np.asarray(logits, np.float64), -1) for logits in (answers[1], exact)]
        yield Result(
            f"{side}, 7 files", 200, largest(answers[0], exact), largest(answers[1], data[name]), ALLOWED["fort"],
            f"probabilities in 32 bits within {largest(*odds):.1e}",
        )  # fmt: skip


def check_vectors(folder: Path) -> Iterator[Result]:
    """All networks."""
    data = {path.stem: np.load(path) for path in sorted((folder / "vectors").glob("*.npz"))}
    yield from check_actor_critic("lbf", "food_position", data["lbf_a2c"])
    yield from check_actor_critic("navigation", "destination", data["pcn_a2c"])
    yield from check_prey(data["wolfpack_prey"])
    yield from check_distilled(data["wolfpack_distilled"])
    yield from check_fort(data["fort_mpnn"])
    yield from check_graph_dqn(data["wolfpack_graph_dqn"])


def play(episodes: int) -> Iterator[str]:
    """Returns of types in the learner's slot, beside those that were measured before."""
    for name, types in YARDSTICKS.items():
        task = make(name)
        known = {one.name: one.policy for one in types_of(task)} | {"random": UniformRandom()}
        for which, yardstick in types.items():
            played = play_type(known[which], task, episodes)
            yield f"{name:28}{which:12}{played.mean:8.2f} ± {played.interval:5.2f}   {yardstick}"


def main() -> None:
    """Print the table; exit with 1 if a network differs."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--play", type=int, default=0, metavar="EPISODES", help="also play this many of each type")
    given = arguments.parse_args()
    for one in import_agents(given.folder / "weights"):
        print(f"imported {one.group}: {', '.join(one.members)}", flush=True)
    print(f"\n{'network':28}{'inputs':>7}{'64 bits':>10}{'32 bits':>10}{'allowed':>10}  also")
    good = True
    with jax.enable_x64(True):
        for one in check_vectors(given.folder):
            numbers = f"{one.inputs:7}{one.exact:10.1e}{one.single:10.1e}{one.allowed:10.1e}"
            print(f"{one.network:28}{numbers}  {one.also}", flush=True)
            good = good and one.good
    if given.play:
        print(f"\n{'task':28}{'learner':12}{'return':>16}   measured before")
        for line in play(given.play):
            print(line, flush=True)
    if not good:
        raise SystemExit("A network differs from the recorded answers.")


if __name__ == "__main__":
    main()
