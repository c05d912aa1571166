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
from openteam.core.world import Drawable
from openteam.drawing.ghosts import GHOST, believed_agents, check_ghosts, draw_ghosts
from openteam.errors import UserError
from openteam.rollout.episodes import Step, check_not_traced, play
from openteam.task import Task

ENDINGS = (".gif", ".mp4", ".png")
DIMMED = 0.55  # the brightness of what the learner does not see
CAPTION = 28  # pixels above a picture
LETTERS = range(14, 5, -1)  # sizes of its font: the largest with which it fits
SHEET_COLUMNS, SHEET_FRAMES = 4, 12  # of one episode on a sheet
SHEET_WIDTH = 320  # pixels of a picture on a sheet, at most
GAP = 12  # pixels between pictures on a sheet


class Recording:
    """An episode of n steps: n + 1 world states, n rewards of the learner, who that is, and maybe what it believed.

    Beliefs are those held when acting, so the last state has none.
    """

    def __init__(self, states: list[Any], rewards: np.ndarray, learner: str = "", beliefs: Sequence[Belief] = ()):
        self.states = states
        self.rewards = rewards
        self.learner = learner
        self.beliefs = beliefs

    def __repr__(self) -> str:
        who = f"{self.learner}: " if self.learner else ""
        return f"Recording({who}{len(self.rewards)} steps, return {self.total:.4g})"

    @property
    def total(self) -> float:
        return float(self.rewards.sum())

    def until(self, step: int) -> Recording:
        """Its first steps."""
        return Recording(self.states[: step + 1], self.rewards[:step], self.learner, self.beliefs[: step + 1])


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
        before, after, rewards, held = (_pick(part, number, length) for part in played.kept)
        recordings.append(Recording([before[0], *after], np.array(rewards), learner, held if belief else ()))
    return recordings


def keep_world(step: Step) -> tuple[Any, Any, Array, None]:
    """The world before and after a step, and the learner's reward."""
    return step.env.world, step.after.world, step.timestep.reward, None


def keep_belief(step: Step) -> tuple[Any, Any, Array, Belief | None]:
    """The same, and what the learner believed when it acted."""
    return step.env.world, step.after.world, step.timestep.reward, step.decision.explanation.belief


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
        pictures = draw_frames(task, recording, chosen, SHEET_WIDTH)
        rows += [pictures[first : first + SHEET_COLUMNS] for first in range(0, len(chosen), SHEET_COLUMNS)]
    from PIL import Image

    width, height = (edge + GAP for edge in rows[0][0].size)
    sheet = Image.new("RGB", (max(map(len, rows)) * width - GAP, len(rows) * height - GAP), "white")
    for row, pictures in enumerate(rows):
        for column, picture in enumerate(pictures):
            sheet.paste(picture, (column * width, row * height))
    sheet.save(path, optimize=True)


def draw_frames(
    task: Task, recording: Recording, chosen: Sequence[int] | None = None, width: int | None = None
) -> list[Any]:
    """Pictures of the chosen states, by default all, what the learner does not see dimmed, at most so wide.

    Above them stand the task or who the learner is, the step, the return so far, and how many agents are present.
    Where a belief was recorded, ghosts show it, and how many agents it counts is written in their colour.
    """
    if not isinstance(task.world, Drawable):
        raise UserError(f"{type(task.world).__name__} cannot draw itself: give it methods rgb(state) and text(state).")
    try:
        from PIL import Image
    except ImportError:
        raise UserError("An animation needs Pillow. Install it: pip install 'openteam[plots]'") from None
    sees, learner = eqx.filter_jit(task.view.sees), jnp.zeros((), jnp.int32)
    returns = np.concatenate([[0.0], np.cumsum(recording.rewards)])
    frames = []
    for number in range(len(recording.states)) if chosen is None else chosen:
        state, who = recording.states[number], recording.learner or task.name
        caption = f"{who}   step {number:2d}   return {returns[number]:.4g}   agents {int(state.present.sum())}"
        pixels = dim(task.world.rgb(state), np.asarray(sees(task.world, state, learner)))
        note = "   believed -" if recording.beliefs else ""
        if number < len(recording.beliefs):
            belief = recording.beliefs[number]
            pixels, note = draw_ghosts(pixels, task.world, belief), f"   believed {believed_agents(belief):.1f}"
        picture = Image.fromarray(pixels)
        picture.thumbnail((width or picture.width, picture.height), Image.Resampling.LANCZOS)
        frames.append(_with_caption(picture, caption, note))
    return frames


def dim(
    picture: UInt8[np.ndarray, "height width 3"], bright: Bool[np.ndarray, "rows columns"]
) -> UInt8[np.ndarray, "height width 3"]:
    """The picture with all parts darkened that are not bright; the mask is scaled to it."""
    height, width = (np.arange(edge) * parts // edge for edge, parts in zip(picture.shape, bright.shape, strict=False))
    light = np.where(bright[np.ix_(height, width)], 1.0, DIMMED)
    return (picture * light[..., None]).round().astype(np.uint8)


def _with_caption(picture: Any, caption: str, note: str = "") -> Any:
    from PIL import Image, ImageDraw, ImageFont

    whole = Image.new("RGB", (picture.width, picture.height + CAPTION), "white")
    whole.paste(picture, (0, CAPTION))
    pen, fonts = ImageDraw.Draw(whole), [ImageFont.load_default(size) for size in LETTERS]
    fitting = (font for font in fonts if pen.textlength(caption + note, font) <= picture.width - 16)
    font = next(fitting, fonts[-1])
    pen.text((8, CAPTION / 2), caption, fill="#333333", font=font, anchor="lm")
    pen.text((8 + pen.textlength(caption, font), CAPTION / 2), note, fill=GHOST, font=font, anchor="lm")
    return whole
