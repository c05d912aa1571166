"""An agent of this exported policy, without openteam. ``python run.py`` lets it act a few times on made-up features."""

import json
from pathlib import Path

import numpy as np
from step import Step

HERE = Path(__file__).parent


class Agent:
    """Keeps everybody in a slot of its own, its memory of them, and its last action. Slot 0 is the learner's."""

    def __init__(self, learner="me", seed=0):
        self.contract = json.loads((HERE / "contract.json").read_text(encoding="utf-8"))
        self.step, self.learner, self.random = Step(HERE), learner, np.random.default_rng(seed)
        self.absent = np.array([entry["absent"] for entry in self.contract["features"]["agents"]], np.float32)
        self.reset()

    def reset(self):
        """A new episode."""
        with np.load(HERE / "start.npz", allow_pickle=False) as start:
            self.memory = dict(start)
        self.slots, self.previous_action, self.starts = {self.learner: 0}, -1, True

    def act(self, team, shared, legal=None):
        """The next action, given everybody's features by id. Delete whoever left from ``slots`` to make room."""
        if not self.contract["keeps_unseen"]:
            self.slots = {who: slot for who, slot in self.slots.items() if who in team}
        agents = np.tile(self.absent, (self.contract["agents"], 1))
        visible, new = np.zeros((2, len(agents)), bool)
        for who, features in team.items():
            if who not in self.slots:
                self.slots[who] = next(slot for slot in range(len(agents)) if slot not in self.slots.values())
                new[self.slots[who]] = True
            agents[self.slots[who]], visible[self.slots[who]] = features, True
        new[0] = self.starts
        legal = np.ones(len(self.contract["actions"]), bool) if legal is None else np.array(legal, bool)
        inputs = {"agents": agents, "visible": visible, "new": new, "legal": legal, "starts": np.array(self.starts)}
        inputs["shared"] = np.array(shared, np.float32)
        inputs["previous_action"] = np.array(self.previous_action, np.int32)
        if self.contract["noise"]:
            inputs["noise"] = self.random.random(self.contract["noise"], np.float32)
        self.outputs = self.step(inputs | self.memory)  # action values too, where the policy has them
        self.memory = {name: self.outputs[name] for name in self.memory}
        self.previous_action, self.starts = int(self.outputs["action"]), False
        return self.previous_action


if __name__ == "__main__":
    agent, made_up = Agent(), np.random.default_rng(0)
    for team in (["me", "drone-7"], ["drone-7", "me", "rover"], ["me", "rover"]):
        rows = {who: made_up.random(len(agent.absent)) for who in team[: agent.contract["agents"]]}
        action = agent.act(rows, made_up.random(len(agent.contract["features"]["shared"])))
        print(", ".join(rows), "->", agent.contract["actions"][action])
