"""Whether the three exports of a run decide as ``openteam.Agent`` does, over thousands of steps of real episodes.

python benchmarks/export_agreement.py results/lbf-released/gpl-q/seed-0 --split larger

Episodes are those of an evaluation, with arrivals and departures; teams are given by id in random order. Every export
runs in a process of its own, ONNX and numpy in virtual environments that have nothing but what they need.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import jax
import numpy as np

import openteam
from openteam.core.random import key
from openteam.deploy.pure_step import NOISE, PureStep
from openteam.rollout.episodes import play

NEEDS = {"onnx": ["numpy", "onnxruntime"], "numpy": ["numpy"], "stablehlo": ["jax"]}
BATCH = 64
FOLLOW = """
import json, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import run

class Given:  # instead of a generator: the numbers that openteam's agent drew
    def random(self, count, dtype):
        return np.array(self.numbers, dtype)

steps, agent, wrong, furthest = json.load(open(sys.argv[2])), run.Agent(), 0, 0.0
agent.random = Given()
for step in steps:
    if step["starts"]:
        agent.reset()
    for who in step["left"]:
        agent.slots.pop(who, None)
    agent.random.numbers = step["noise"]
    if step["past"] is not None:
        agent.previous_action = step["past"]
    wrong += agent.act(dict(step["team"]), step["shared"], step["legal"]) != step["action"]
    if step["values"]:
        furthest = max(furthest, float(np.abs(agent.outputs["action_values"] - np.float32(step["values"])).max()))
others = sorted(name for name in ("openteam", "jax", "onnxruntime", "onnx", "scipy") if name in sys.modules)
print(json.dumps({"steps": len(steps), "wrong": wrong, "furthest": furthest, "imported": others}))
"""


def evaluation(run: str, split: str, steps: int):
    """Steps of episodes that the run's policy played, as teams by id; and how many of its actions the agent repeats."""
    opened = openteam.Run.open(run)
    task = opened.task.split(split)
    agent = openteam.Agent.load(run, agents=task.slots)
    pure = PureStep(agent.policy, agent.interface, task.slots)
    has_noise, noise = pure.inputs[-1].name == NOISE, jax.jit(pure.noise)
    rng, told, same, arrivals = np.random.default_rng(0), [], 0, 0
    keep = lambda step: (step.view, step.env.visits, step.counts, step.decision.action)  # noqa: E731
    for number in range(10**6):
        views, visits, counts, actions = jax.device_get(play(task, agent.policy, key(number), BATCH, keep).kept)
        for episode in range(BATCH):
            occupant: dict[int, str] = {}
            agent.reset()
            for t in np.flatnonzero(counts[:, episode]):
                view = jax.tree.map(lambda leaf: leaf[t, episode], views)  # noqa: B023
                left, team = by_id(view, visits[t, episode], occupant, rng)
                left = left if agent.interface.keeps_unseen else []
                for who in left:
                    agent.forget(who)
                draws = agent._state.draws
                past = None if view.starts else int(view.previous_action)
                action = agent.act(team, view.obs.shared, view.obs.legal, previous_action=past)
                same += action == actions[t, episode]
                arrivals += 0 if view.starts else int(view.new.sum())
                values = agent.explain().get("action_values") or {}
                told.append(
                    {"starts": bool(view.starts), "left": left, "team": [(w, r.tolist()) for w, r in team],
                     "shared": view.obs.shared.tolist(), "legal": view.obs.legal.tolist(), "action": action,
                     "past": past,
                     "values": list(values.values()), "noise": np.asarray(noise(draws)).tolist() if has_noise else []}
                )  # fmt: skip
                if len(told) == steps:
                    return told, None if has_noise else same, arrivals, task.slots
    raise AssertionError


def by_id(view, visits, occupant: dict[int, str], rng) -> tuple[list[str], list]:
    """Who was found to have left, and everybody in sight in random order; newcomers in the order of their slots."""
    seen = np.flatnonzero(view.obs.visible).tolist()
    left = []
    for slot in seen:
        who = f"{slot}-{visits[slot]}" if slot else "me"
        if occupant.get(slot, who) != who:
            left.append(occupant[slot])
        occupant[slot] = who
    newcomers = iter([slot for slot in seen if view.new[slot]])
    order = [next(newcomers) if view.new[slot] else slot for slot in rng.permutation(seen).tolist()]
    return left, [(occupant[slot], view.obs.agents[slot]) for slot in order]


def follow(run: str, kind: str, agents: int, steps: Path, folder: Path) -> dict:
    """What an export makes of the same steps, in an environment with only what it needs."""
    openteam.export(run, kind, folder / kind, agents)
    python = sys.executable
    if kind != "stablehlo":  # that needs jax, which is here
        subprocess.run([python, "-m", "venv", folder / f"env-{kind}"], check=True)
        python = folder / f"env-{kind}" / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", *NEEDS[kind]], check=True, capture_output=True)
    ran = subprocess.run([python, "-c", FOLLOW, folder / kind, steps], capture_output=True, text=True, cwd=folder)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return json.loads(ran.stdout)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", nargs="?", default="results/lbf-released/gpl-q/seed-0")
    parser.add_argument("--split", default="larger")
    parser.add_argument("--steps", type=int, default=10_000)
    flags = parser.parse_args()
    told, same, arrivals, agents = evaluation(flags.run, flags.split, flags.steps)
    print(f"{flags.run} on {flags.split}: {len(told):,} steps, {arrivals:,} arrivals within episodes, {agents} slots")
    if same is not None:  # a policy that draws has other random numbers there
        print(f"agent.act: {same:,} of {len(told):,} actions are the evaluation's")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "steps.json").write_text(json.dumps(told))
        for kind in ("onnx", "stablehlo", "numpy"):
            found = follow(flags.run, kind, agents, folder / "steps.json", folder)
            print(
                f"{kind}: {found['wrong']} of {found['steps']:,} actions differ, action values by at most "
                f"{found['furthest']:.1e}; imported {', '.join(found['imported']) or 'numpy only'}",
                flush=True,
            )


if __name__ == "__main__":
    main()
