"""One file that shows recorded episodes with all panels: the page, its modules and the numbers, packed together."""

from __future__ import annotations

import base64
import gzip
import html
import json
from collections.abc import Sequence
from typing import Any

from openteam.viewer.episode import Episode
from openteam.viewer.page_files import fill, inlined, page_files
from openteam.viewer.stage import Stage

LARGEST = 5_000_000  # bytes of a file with five episodes


def record(stage: Stage, seed: int, episodes: int) -> list[Episode]:
    """Whole episodes from consecutive seeds."""
    played = []
    for number in range(episodes):
        episode = Episode.start(stage.task, stage.player, seed + number)
        list(episode.play(stage.task.horizon))
        played.append(episode)
    return played


def recording_of(stage: Stage, episodes: Sequence[Episode]) -> dict[str, Any]:
    """What the page shows of episodes, with the learner's values without each of the others."""
    told = []
    for episode in episodes:
        frames = [dict(frame) for frame in episode.frames]
        for number in range(len(episode.looks)):
            frames[number]["without"] = episode.without_each(number)
        told.append({"seed": episode.seed, "seat": episode.seat, "frames": frames})
    return {"stage": stage.describe(), "episodes": told}


def as_html(recording: dict[str, Any]) -> str:
    """The file's text."""
    numbers = json.dumps(recording, separators=(",", ":"), allow_nan=False).encode()
    packed = base64.b64encode(gzip.compress(numbers, 9, mtime=0)).decode()
    stage = recording["stage"]
    title = html.escape(f"{stage['player']} on {stage['task']}")
    return fill("watch.html", {
        "title": title,
        "style": f"<style>{page_files()['style.css']}</style>",
        "modules": f'<script type="importmap">{json.dumps({"imports": inlined()})}</script>',
        "start": '<script type="module">import "openteam/watch.js";</script>',
        "recording": f'<script type="text/plain" id="recording">{packed}</script>',
    })  # fmt: skip
