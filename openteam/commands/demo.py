"""``openteam demo``."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from openteam.commands.checks import check_episodes, check_new_run
from openteam.commands.count import Count
from openteam.drawing.figures import check_picture
from openteam.training.settings import Settings

CURVES = "learning-curve.png"


@dataclasses.dataclass(frozen=True)
class Demo:
    """Train GPL-Q on Level-Based Foraging, compare it with random and scripted play, draw what happened."""

    out: Path = Path("demo")
    """Folder for the run and the pictures."""
    steps: Count = 320_000
    """Environment steps: enough to see it learn, a twentieth of the paper's."""
    episodes: Count = 512
    """Episodes behind every figure of the table."""
    seed: Count = 0
    """Another seed, another learner."""

    def __call__(self) -> None:
        check_picture(self.out / CURVES)
        Settings(self.steps)
        check_episodes(self.episodes, self.seed)
        check_new_run(self.out / "run")
        from openteam.commands.demonstration import demonstrate

        demonstrate(self)
