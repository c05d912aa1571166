"""What stands on and around a picture of an episode: marks of actions and rewards, a caption, a legend of types."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from openteam.core.layout import Documented
from openteam.core.world import Markable, Marker
from openteam.drawing.ghosts import GHOST
from openteam.task import Task

INK, QUIET, GOLD, GAIN, LOSS, WHITE = "#333333", "#777777", "#f2b134", "#1b7f3b", "#c62828", "#ffffff"
LETTERS = 13  # size of the font of every caption and legend
LINE = 18  # pixels from one line to the next
CAPTION = 2 * LINE + 6  # pixels above a picture
NARROWEST = 240  # pixels: a narrower picture gets white beside it, so that words fit
SWATCH = 5  # radius of a disc in a legend
SMALLEST = 9  # pixels: the radius of a smaller agent counts as this in the size of its marks
OVERSAMPLE = 4  # marks are drawn this much larger, then reduced, for smooth edges
DIRECTIONS = {
    **dict.fromkeys(("north", "up"), (0, -1)),
    **dict.fromkeys(("south", "down"), (0, 1)),
    **dict.fromkeys(("west", "left"), (-1, 0)),
    **dict.fromkeys(("east", "right"), (1, 0)),
}
STAYING = ("none", "stay")

Pixels = int | float


@dataclass(frozen=True)
class Notes:
    """What is known of one frame besides its picture; nothing of what was not recorded."""

    who: str
    numbers: str
    believed: str = ""
    markers: Sequence[Marker] = ()
    type_names: Sequence[str] = ()
    """By slot."""
    actions: Int[np.ndarray, "slots"] | None = None
    """The next ones."""
    reward: float = 0.0
    """That led here."""


def annotate(picture: Any, task: Task, notes: Notes, key: str = "") -> Any:
    """A frame: the caption, the picture with its marks, who is who, and what the marks mean."""
    from PIL import Image, ImageDraw

    width = max(picture.width, NARROWEST)
    lines = legend_lines(task, width) if notes.type_names else 0
    below = wrap(key, width - 16)
    height = CAPTION + picture.height + LINE * (lines + len(below)) + (6 if lines or below else 0)
    frame = Image.new("RGB", (width, height), "white")
    frame.paste(with_marks(picture, task, notes), (0, CAPTION))
    pen = ImageDraw.Draw(frame)
    write(pen, 8, LINE * 0.5 + 2, shorten(notes.who, width - 16), INK)
    write(pen, 8, LINE * 1.5 + 2, notes.numbers, INK)
    write(pen, 8 + length(notes.numbers), LINE * 1.5 + 2, notes.believed, GHOST)
    top = CAPTION + picture.height + 3
    draw_legend(frame, task, notes, top, width)
    for number, text in enumerate(below):
        write(pen, 8, top + LINE * (lines + number + 0.5), text, QUIET)
    return frame


def with_marks(picture: Any, task: Task, notes: Notes) -> Any:
    """The picture with everybody's next action and the learner's last reward."""
    if not notes.markers:
        return picture
    marked = picture.convert("RGBA")
    names = task.world.layout(task.slots).actions if isinstance(task.world, Documented) else None
    for one in notes.markers:
        action = names[int(notes.actions[one.slot])] if names and notes.actions is not None else None
        draw_marks(marked, one, action, notes.reward if one.slot == 0 else 0.0)
    return marked.convert("RGB")


def draw_marks(picture: Any, marker: Marker, action: str | None, reward: float) -> None:
    """An agent's marks, in place: drawn larger on a patch around it, then reduced."""
    from PIL import Image, ImageDraw

    if action is None and not reward:
        return
    x, y, r = marker.x * picture.width, marker.y * picture.height, marker.radius * picture.width
    reach = 2 * max(r, SMALLEST) + (4 * LETTERS if reward else 0)
    left, top = max(0, int(x - reach)), max(0, int(y - reach))
    width, height = min(picture.width, int(x + reach)) - left, min(picture.height, int(y + reach)) - top
    patch = Image.new("RGBA", (width * OVERSAMPLE, height * OVERSAMPLE))
    pen, place = ImageDraw.Draw(patch), ((x - left) * OVERSAMPLE, (y - top) * OVERSAMPLE, r * OVERSAMPLE)
    if action is not None:
        draw_action(pen, *place, action)
    if reward:
        draw_reward(pen, *place, reward, patch.width)
    picture.alpha_composite(patch.resize((width, height), Image.Resampling.LANCZOS), (left, top))


def draw_action(pen: Any, x: Pixels, y: Pixels, r: Pixels, name: str) -> None:
    """An arrow head beside an agent where it steps next, a dot below it if it stays, a ring for anything else."""
    unit = max(r, SMALLEST * OVERSAMPLE)
    if name in DIRECTIONS:
        right, down = DIRECTIONS[name]
        base, half = r + 0.12 * unit, 0.42 * unit
        corners = [(base + 0.63 * unit, 0.0), (base, half), (base, -half)]
        pen.polygon([(x + a * right - b * down, y + a * down + b * right) for a, b in corners], fill=INK)
        return
    middle, size = y + r + 0.38 * unit, (0.17 if name in STAYING else 0.26) * unit
    box = (x - size, middle - size, x + size, middle + size)
    pen.ellipse(box, fill=INK if name in STAYING else WHITE, outline=INK, width=round(0.12 * unit))


def draw_reward(pen: Any, x: Pixels, y: Pixels, r: Pixels, reward: float, right: Pixels) -> None:
    """A flash around the learner, green for a gain, red for a loss, with the number."""
    colour = GAIN if reward > 0 else LOSS
    for reach, opacity in ((1.9, "40"), (1.5, "70")):
        pen.ellipse((x - reach * r, y - reach * r, x + reach * r, y + reach * r), outline=colour + opacity,
                    width=round(0.35 * r))  # fmt: skip
    large, text = font(LETTERS * OVERSAMPLE), signed(reward)
    wide = pen.textlength(text, large)
    place = min(x + 1.2 * r, right - wide - OVERSAMPLE), max(y - 1.7 * r, LETTERS * OVERSAMPLE / 2)
    pen.text(place, text, fill=colour, font=large, anchor="lm", stroke_width=2 * OVERSAMPLE, stroke_fill=WHITE)


def signed(reward: float) -> str:
    """A number that shows its sign, as in ``+2``."""
    return f"{reward:+.2g}"


def draw_swatch(frame: Any, x: int, y: int, colour: str, learner: bool) -> None:
    """A disc in the colour of an agent, the learner's with a golden rim."""
    from PIL import Image, ImageDraw

    edge = 2 * SWATCH + 6
    image = Image.new("RGB", (edge * OVERSAMPLE, edge * OVERSAMPLE), "white")
    pen, middle = ImageDraw.Draw(image), edge * OVERSAMPLE / 2
    for radius, fill in [(SWATCH + 2, GOLD)] * learner + [(SWATCH, colour)]:
        reach = radius * OVERSAMPLE
        pen.ellipse((middle - reach, middle - reach, middle + reach, middle + reach), fill=fill)
    frame.paste(image.reduce(OVERSAMPLE), (x - edge // 2, y - edge // 2))


def draw_legend(frame: Any, task: Task, notes: Notes, top: Pixels, width: int) -> None:
    """The colours of who is present, with their types; one entry for all that look and are the same."""
    from PIL import ImageDraw

    if not notes.type_names:
        return
    entries: dict[tuple[str, str], bool] = {}
    for one in sorted(notes.markers, key=lambda marker: marker.slot):
        name = "learner" if one.slot == 0 else notes.type_names[one.slot]
        entries.setdefault((one.colour, name), one.slot == 0)
    pen, columns = ImageDraw.Draw(frame), legend_columns(task, width)
    for number, ((colour, text), learner) in enumerate(entries.items()):
        row, column = divmod(number, columns)
        x, y = 8 + SWATCH + column * (width - 8) / columns, top + LINE * (row + 0.5)
        draw_swatch(frame, round(x), round(y), colour, learner)
        write(pen, x + SWATCH + 5, y, text, INK)


def legend_columns(task: Task, width: int) -> int:
    """How many entries fit beside each other, whoever is there: all frames of a task are equally high."""
    longest = max(map(length, (*task.pool.names, "learner")))
    return max(1, int((width - 8) // (longest + 2 * SWATCH + 16)))


def legend_lines(task: Task, width: int) -> int:
    """Lines for everybody who can be there at once."""
    if not isinstance(task.world, Markable):
        return 0
    entries = task.slots if task.pool.teams is None else 1 + task.pool.count_teams(task.slots)
    return -(-min(entries, task.slots) // legend_columns(task, width))


def explain_marks(task: Task, *, hidden: bool, believed: bool) -> str:
    """What the marks mean, for a legend."""
    parts = []
    if isinstance(task.world, Markable):
        parts.append("golden: the learner")
        if isinstance(task.world, Documented):
            names = task.world.layout(task.slots).actions
            others = [name for name in names if name not in DIRECTIONS and name not in STAYING]
            parts += ["arrow: next step", "dot: stays"] + [f"ring: {' / '.join(others)}"] * bool(others)
        parts.append("flash: reward")
    parts += ["grey: out of sight"] * hidden + ["pink: believed"] * believed
    return ", ".join(parts)


def wrap(text: str, width: Pixels) -> list[str]:
    """Lines of at most this many pixels, broken at commas."""
    lines: list[str] = []
    for part in text.split(", ") if text else []:
        if lines and length(f"{lines[-1]}, {part}") <= width:
            lines[-1] += f", {part}"
        else:
            lines.append(part)
    return lines


def shorten(text: str, width: Pixels) -> str:
    """The end of a text that is too long, which says most of a run's name."""
    if length(text) <= width:
        return text
    while len(text) > 1 and length(f"…{text}") > width:
        text = text[1:]
    return f"…{text}"


def write(pen: Any, x: Pixels, y: Pixels, text: str, colour: str) -> None:
    """A line of a caption or legend."""
    pen.text((x, y), text, fill=colour, font=font(LETTERS), anchor="lm")


def length(text: str) -> float:
    """Pixels of a line of text."""
    return font(LETTERS).getlength(text)


@functools.cache
def font(size: int) -> Any:
    """Pillow's own, which reads slowly."""
    from PIL import ImageFont

    return ImageFont.load_default(size)
