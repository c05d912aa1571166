"""Fewer decisions: in a simulator with many frames a second, one frame alone means little."""


class Repeated:
    """Everybody does the same for a few frames, and rewards are summed."""

    def __init__(self, env, frames):
        self.env, self.frames = env, frames

    def __getattr__(self, name):
        """Whatever else is asked of it."""
        return getattr(self.env, name)

    @property
    def agents(self):
        """Who lives."""
        return self.env.agents

    def step(self, actions):
        """So many frames, or until everybody is dead. Who is born meanwhile acts from the next step on."""
        total = dict.fromkeys(actions, 0.0)
        ended = {"terminated": dict.fromkeys(actions, False), "truncated": dict.fromkeys(actions, False)}
        observations, infos = {}, {}
        for _ in range(self.frames):
            if not self.agents:
                break
            told = self.env.step({one: actions.get(one, 0) for one in self.agents})
            observations, rewards, terminations, truncations, infos = told
            for one, reward in rewards.items():
                total[one] = total.get(one, 0.0) + reward
            for flags, kind in ((terminations, "terminated"), (truncations, "truncated")):
                ended[kind] |= {one: True for one, flag in flags.items() if flag}
        return observations, total, ended["terminated"], ended["truncated"], infos
