"""The page in a notebook: the same file that ``openteam watch RUN --export x.html`` writes."""

from __future__ import annotations

import html
from dataclasses import dataclass
from pathlib import Path

from openteam.api import Player as Given
from openteam.api import find_player
from openteam.core.policy import AbstractPolicy
from openteam.errors import UserError, check_seed, check_whole
from openteam.task import Task
from openteam.viewer.export import LARGEST, as_html, record, recording_of
from openteam.viewer.library import name_of
from openteam.viewer.stage import Player, Stage

MOST_EPISODES = 20


@dataclass(frozen=True)
class Shown:
    """A page with recorded episodes. A notebook shows it; ``write`` saves it."""

    text: str

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self.text)}" width="100%" height="820" style="border:0"></iframe>'

    def __repr__(self) -> str:
        return f"Shown({len(self.text) / 1e6:.2f} MB; a notebook shows it, write('x.html') saves it)"

    def write(self, path: Path | str) -> Path:
        """Save the page as a file that needs nothing else."""
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(self.text, encoding="utf-8")
        return target


def show(
    policy: Given,
    task: Task | str | None = None,
    split: str = "train",
    *,
    episodes: int = 1,
    seed: int = 0,
) -> Shown:
    """Recorded episodes as a page: values, predictions, pairs, types and belief beside the world."""
    check_seed(seed, episodes)
    check_whole("episodes", episodes, 1, MOST_EPISODES)
    player, chosen, split = find_player(policy, task, split, "show")
    name = type(policy).__name__ if isinstance(policy, AbstractPolicy) else name_of(Path(policy))
    stage = Stage(chosen, Player(name, player), split, splits=(split,))
    text = as_html(recording_of(stage, record(stage, seed, episodes)))
    if len(text) > LARGEST:
        raise UserError(
            f"The page would have {len(text) / 1e6:.1f} MB; at most {LARGEST / 1e6:.0f} MB can be shared. Record fewer "
            f"than {episodes} episodes, or a task with shorter ones or smaller teams."
        )
    return Shown(text)
