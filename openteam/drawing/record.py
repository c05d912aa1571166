"""Episodes to look at: states and rewards, and pictures of them as an animation, a film or a sheet."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, UInt8

from openteam.core.policy import AbstractPolicy, Belief
from openteam.core.random import key as make_key
from openteam.core.world import Drawable, Markable
from openteam.drawing.annotations import LINE, QUIET, Notes, annotate, explain_marks, wrap, write
from openteam.drawing.ghosts import believed_agents, check_ghosts, draw_ghosts
from openteam.errors import UserError
from openteam.rollout.episodes import Step, check_not_traced, play
from openteam.task import Task
from openteam.views.full import FullView

ENDINGS = (".gif", ".mp4", ".png")
FOG, THICKNESS = (168, 174, 184), 0.45  # its colour over what the learner does not see, and how opaque it is
SHEET_COLUMNS, SHEET_FRAMES = 4, 12  # of one episode on a sheet
SHEET_WIDTH = 320  # pixels of a picture on a sheet, at most
GAP = 12  # pixels between pictures on a sheet


class Recording:
    """An episode of n steps: n + 1 world states, n rewards of the learner, and who that is.

    As far as they were recorded: beliefs and everybody's actions, which the last state has none of, and everybody's
    types, by state and slot.
    """

    def __init__(
        self,
        states: list[Any],
        rewards: np.ndarray,
        learner: str = "",
        beliefs: Sequence[Belief] = (),
        actions: Sequence[np.ndarray] = (),
        type_ids: Sequence[np.ndarray] = (),
    ):
        self.states = states
        self.rewards = rewards
        self.learner = learner
        self.beliefs = beliefs
        self.actions = actions
        self.type_ids = type_ids

    def __repr__(self) -> str:
        who = f"{self.learner}: " if self.learner else ""
        return f"Recording({who}{len(self.rewards)} steps, return {self.total:.4g})"

    @property
    def total(self) -> float:
        return float(self.rewards.sum())

    def until(self, step: int) -> Recording:
        """Its first steps."""
        kept = (self.beliefs[: step + 1], self.actions[: step + 1], self.type_ids[: step + 1])
        return Recording(self.states[: step + 1], self.rewards[:step], self.learner, *kept)


def record_all(
    policy: AbstractPolicy, task: Task, *, seed: int = 0, episodes: int = 1, learner: str = "", belief: bool = False
) -> list[Recording]:
    """Some episodes, each from its own start; ``learner`` is written above their pictures.

    With ``belief`` they also hold what the learner believed, and pictures of them have ghosts.
    """
    if episodes < 1:
        raise UserError(f"A recording needs at least 1 episode; got {episodes}.")
    check_not_traced(policy, task)
    if belief:
        check_ghosts(policy, task, learner)
    played = jax.device_get(play(task, policy, make_key(seed), episodes, keep_belief if belief else keep_world))
    recordings = []
    for number, length in enumerate(played.lengths.tolist()):
        envs, after, rewards, actions, held = (_pick(part, number, length) for part in played.kept)
        states, type_ids = zip(*(envs[:1] + after), strict=True)
        beliefs = held if belief else ()
        recordings.append(Recording([*states], np.array(rewards), learner, beliefs, actions, type_ids))
    return recordings


def keep_world(step: Step) -> tuple[Any, Any, Array, Array, None]:
    """World and types before and after a step, the learner's reward, and everybody's actions."""
    before, after = ((env.world, env.type_ids) for env in (step.env, step.after))
    return before, after, step.timestep.reward, step.truth.actions, None


def keep_belief(step: Step) -> tuple[Any, Any, Array, Array, Belief | None]:
    """The same, and what the learner believed when it acted."""
    before, after, reward, actions, _ = keep_world(step)
    return before, after, reward, actions, step.decision.explanation.belief


def _pick(tree: Any, episode: int, steps: int) -> list[Any]:
    """The first steps of one of several episodes."""
    return [jax.tree.map(lambda leaf, n=n: leaf[n, episode], tree) for n in range(steps)]


def check_recording_path(path: Path) -> None:
    """Raise unless the file's ending is known."""
    if path.suffix not in ENDINGS:
        raise UserError(f"A recording is written as {', '.join(ENDINGS)}; got '{path.name}'.")


def write_recordings(path: Path, task: Task, recordings: list[Recording], frames: int = SHEET_FRAMES) -> None:
    """Write what the file's ending asks for: .gif, .mp4, or as .png a sheet with this many frames per episode."""
    check_recording_path(path)
    writers = {".gif": write_gif, ".mp4": write_mp4, ".png": partial(write_sheet, frames=frames)}
    path.parent.mkdir(parents=True, exist_ok=True)
    writers[path.suffix](path, task, *recordings)


def write_gif(path: Path, task: Task, *recordings: Recording, milliseconds: int = 250) -> None:
    """An animated picture, which rests on the last frame of every episode."""
    frames, times = [], []
    for recording in recordings:
        pictures = draw_frames(task, recording)
        frames += pictures
        times += [milliseconds] * (len(pictures) - 1) + [4 * milliseconds]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=times, loop=0)


def write_mp4(path: Path, task: Task, *recordings: Recording, frames_per_second: int = 4) -> None:
    """A film."""
    ffmpeg = find_ffmpeg()
    frames = [frame for recording in recordings for frame in draw_frames(task, recording)]
    width, height = frames[0].size
    raw = f"-f rawvideo -pix_fmt rgb24 -s {width}x{height} -r {frames_per_second} -i -".split()
    even = ["-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2:color=white", "-pix_fmt", "yuv420p"]  # what players can decode
    command = [ffmpeg, "-y", "-loglevel", "error", *raw, *even, str(path)]
    ran = subprocess.run(command, input=b"".join(frame.tobytes() for frame in frames), capture_output=True)
    if ran.returncode != 0:
        raise UserError(f"ffmpeg could not write {path}: {ran.stderr.decode().strip()}")


def find_ffmpeg() -> str:
    """The system's, or the one that comes with the extra."""
    try:
        import imageio_ffmpeg
    except ImportError:
        found = shutil.which("ffmpeg")
        if found is None:
            raise UserError("An mp4 needs ffmpeg: pip install 'openteam[video]', or write a .gif instead.") from None
        return found
    return imageio_ffmpeg.get_ffmpeg_exe()


def write_sheet(path: Path, task: Task, *recordings: Recording, frames: int = SHEET_FRAMES) -> None:
    """A picture of frames in reading order: some of every episode, evenly spaced, always its first and last."""
    if frames < 2:
        raise UserError(f"A sheet shows at least the first and the last frame of an episode; got {frames} frames.")
    rows: list[list[Any]] = []
    for recording in recordings:
        last = len(recording.states) - 1
        chosen = np.linspace(0, last, min(last + 1, frames)).round().astype(int).tolist()
        pictures = draw_frames(task, recording, chosen, SHEET_WIDTH, key=False)
        rows += [pictures[first : first + SHEET_COLUMNS] for first in range(0, len(chosen), SHEET_COLUMNS)]
    from PIL import Image, ImageDraw

    width, height = (edge + GAP for edge in rows[0][0].size)
    whole = max(map(len, rows)) * width - GAP
    lines = wrap(key_of(task, recordings[0]), whole - 16)
    sheet = Image.new("RGB", (whole, len(rows) * height - GAP + len(lines) * LINE), "white")
    for row, pictures in enumerate(rows):
        for column, picture in enumerate(pictures):
            sheet.paste(picture, (column * width, row * height))
    for number, line in enumerate(reversed(lines)):
        write(ImageDraw.Draw(sheet), 8, sheet.height - LINE * (number + 0.5), line, QUIET)
    sheet.save(path, optimize=True)


def draw_frames(
    task: Task,
    recording: Recording,
    chosen: Sequence[int] | None = None,
    width: int | None = None,
    *,
    key: bool = True,
) -> list[Any]:
    """Pictures of the chosen states, by default all, with fog over what the learner does not see, at most so wide.

    Above them stand the task or who the learner is, the step, the return so far, and how many agents are present; on
    them everybody's next action and the learner's reward; below them everybody's type and, with ``key``, what the
    marks mean. Where a belief was recorded, ghosts show it, and how many agents it counts is written in their colour.
    """
    if not isinstance(task.world, Drawable):
        raise UserError(f"{type(task.world).__name__} cannot draw itself: give it methods rgb(state) and text(state).")
    try:
        from PIL import Image
    except ImportError:
        raise UserError("An animation needs Pillow. Install it: pip install 'openteam[plots]'") from None
    sees, learner = eqx.filter_jit(task.view.sees), jnp.zeros((), jnp.int32)
    words, frames = key_of(task, recording) if key else "", []
    for number in range(len(recording.states)) if chosen is None else chosen:
        state = recording.states[number]
        pixels = dim(task.world.rgb(state), np.asarray(sees(task.world, state, learner)))
        if number < len(recording.beliefs):
            pixels = draw_ghosts(pixels, task.world, recording.beliefs[number])
        picture = Image.fromarray(pixels)
        picture.thumbnail((width or picture.width, picture.height), Image.Resampling.LANCZOS)
        frames.append(annotate(picture, task, notes_on(task, recording, number), words))
    return frames


def notes_on(task: Task, recording: Recording, number: int) -> Notes:
    """What is known of one state of an episode."""
    state, belief = recording.states[number], "   believed -" if recording.beliefs else ""
    if number < len(recording.beliefs):
        belief = f"   believed {believed_agents(recording.beliefs[number]):.1f}"
    total, present = recording.rewards[:number].sum(), int(state.present.sum())
    return Notes(
        who=recording.learner or task.name,
        numbers=f"step {number}   return {total:.4g}   agents {present}",
        believed=belief,
        markers=task.world.markers(state) if isinstance(task.world, Markable) else (),
        type_names=[task.pool.names[n] for n in recording.type_ids[number].tolist()] if recording.type_ids else (),
        actions=recording.actions[number] if number < len(recording.actions) else None,
        reward=float(recording.rewards[number - 1]) if number else 0.0,
    )


def key_of(task: Task, recording: Recording) -> str:
    """What the marks of an episode's pictures mean."""
    if not recording.type_ids:
        return ""
    return explain_marks(task, hidden=not isinstance(task.view, FullView), believed=bool(recording.beliefs))


def dim(
    picture: UInt8[np.ndarray, "height width 3"], bright: Bool[np.ndarray, "rows columns"]
) -> UInt8[np.ndarray, "height width 3"]:
    """The picture with fog over all parts that are not bright; the mask is scaled to it."""
    height, width = (np.arange(edge) * parts // edge for edge, parts in zip(picture.shape, bright.shape, strict=False))
    fog = np.where(bright[np.ix_(height, width)], 0.0, THICKNESS)[..., None]
    return (picture * (1 - fog) + np.array(FOG) * fog).round().astype(np.uint8)
