"""Hundreds of ways to damage a run folder: bits, cuts, other values, other files."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from safetensors import safe_open
from safetensors.numpy import load_file, save

from openteam.storage.columns import COLUMNS
from openteam.storage.rows import ROW_FILES
from openteam.storage.seal import SEAL, sealed

LAST, MIDDLE = "checkpoints/000000000016.safetensors", "checkpoints/000000000008.safetensors"
STATE = "state.safetensors"
FILES = ("config.json", "about.json", *ROW_FILES, MIDDLE, LAST, STATE)

Damage = Callable[[Path, random.Random], object]


def flip(name: str) -> Damage:
    def damage(run: Path, chance: random.Random) -> None:
        content = bytearray((run / name).read_bytes())
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        (run / name).write_bytes(content)

    return damage


def truncate(name: str) -> Damage:
    def damage(run: Path, chance: random.Random) -> None:
        os.truncate(run / name, chance.randrange((run / name).stat().st_size))

    return damage


def replace(name: str, content: bytes) -> Damage:
    return lambda run, _: (run / name).write_bytes(content)


def take(source: str, name: str) -> Damage:
    """A file out of one of the runs in the place of another."""
    return lambda run, _: shutil.copyfile(run.parent / "runs" / source, run / name)


def lines(name: str, change: Callable[[list[bytes]], list[bytes]]) -> Damage:
    def damage(run: Path, _: random.Random) -> None:
        (run / name).write_bytes(b"".join(change((run / name).read_bytes().splitlines(keepends=True))))

    return damage


def with_value(content, path: tuple, value):
    """The same JSON with another value somewhere."""
    if not path:
        return value
    if isinstance(content, list):
        return [with_value(item, path[1:], value) if n == path[0] else item for n, item in enumerate(content)]
    return content | {path[0]: with_value(content.get(path[0]), path[1:], value)}


def leaves(content, path: tuple = ()) -> Iterator[tuple]:
    """Every place in a JSON value."""
    yield path
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for name, item in items:
        yield from leaves(item, (*path, name))


def edit_config(path: tuple | None, value, *, reseal: bool) -> Damage:
    """Another value at a place, or at a random one; the file may be given a digest that fits."""

    def damage(run: Path, chance: random.Random) -> None:
        content = json.loads((run / "config.json").read_text())
        del content[SEAL]
        place = path if path is not None else chance.choice(list(leaves(content))[1:])
        changed = with_value(content, place, value)
        text = json.dumps(sealed(changed) if reseal else changed | {SEAL: "0" * 64})
        (run / "config.json").write_text(text)

    return damage


def edit_header(name: str, change: Callable[[dict], object]) -> Damage:
    """A header that was edited and given a digest that fits, by somebody who knows the format."""

    def damage(run: Path, _: random.Random) -> None:
        with safe_open(run / name, "numpy") as file:
            header = json.loads(file.metadata()["openteam"])
        del header[SEAL]
        changed = change(header)
        header = changed if isinstance(changed, dict) else header
        (run / name).write_bytes(save(load_file(run / name), {"openteam": json.dumps(sealed(header))}))

    return damage


WRONG = [None, True, -1, 10**9, 1e400, float("nan"), "", "../../victim.txt", [], [[]], {}, {"class": ["os"]}]
CLASSES = [
    "os:system",
    "subprocess:Popen",
    "openteam:Nothing",
    "nowhere:Nothing",
    "",
    ":",
    "builtins:dict",
    3,
    None,
    [],
]
PATHS = ["/etc/passwd", "../finished", "../../victim.txt", "teammates/../../victim.safetensors", "..", "\0.safetensors"]


def damages() -> Iterator[tuple[str, str, Damage]]:
    """The run that is damaged, what is done to it, and how."""
    for base in ("finished", "halfway"):
        for name in (name for name in FILES if base == "finished" or name != LAST):
            for number in range(16 if name == "config.json" else 5):
                yield base, f"a bit of {name} {number}", flip(name)
            yield base, f"{name} cut", truncate(name)
            yield base, f"{name} emptied", replace(name, b"")
            yield base, f"{name} of another seed", take(f"other/{name}", name)
            yield base, f"{name} not UTF-8", replace(name, b"\xff\xfe\x00garbage\n")
        for path in (("seed",), ("settings", "steps"), ("settings",), ("task", "name"), ("learner", "envs"), None):
            for reseal in (False, True):
                value = WRONG[len(str(path)) % len(WRONG)]
                yield base, f"config {path} {value} {reseal}", edit_config(path, value, reseal=reseal)
        for name in ROW_FILES:
            for number, change in enumerate(
                (lambda rows: rows[1:], lambda rows: rows[:1], lambda rows: rows[::-1], lambda rows: [*rows[:1], *rows],
                 lambda rows: [b"[]\n", *rows[1:]], lambda rows: [b'{"step": "0"}\n', *rows[1:]], lambda rows: [],
                 lambda rows: [rows[0].replace(b"0", b"NaN"), *rows[1:]], lambda rows: [b"{" * 9999 + b"\n", *rows])
            ):  # fmt: skip
                yield base, f"rows of {name} {number}", lines(name, change)
    yield from crafted()


def crafted() -> Iterator[tuple[str, str, Damage]]:
    """Files with digests that fit, and with content that does not."""

    def state(change: Callable[[dict], object]) -> Damage:
        return edit_header(STATE, change)

    def policy(change: Callable[[dict], object]) -> Damage:
        return edit_header(LAST, change)

    for value in WRONG:
        yield "halfway", f"random setting {value}", edit_config(None, value, reseal=True)
        for field in ("updates", "checkpoint", "run", "seed"):
            yield "halfway", f"state {field} {value}", state(lambda header, f=field, v=value: {**header, f: v})
        for field in ("step", "spec", "learner", "run", "kind"):
            yield "finished", f"policy {field} {value}", policy(lambda header, f=field, v=value: {**header, f: v})
    for name in CLASSES:
        yield "with_teammate", f"class {name}", edit_config(("task", "world", "class"), name, reseal=True)
        yield "with_teammate", f"learner {name}", edit_config(("learner", "class"), name, reseal=True)
        yield "finished", f"policy {name}", policy(lambda header, n=name: header["learner"].update({"class": n}))
    for path in PATHS:
        field = ("task", "pool", "families", 1, "runs", 0)
        learned = {"class": "openteam:Learned", "weights": path, "names": []}
        rows = {path: {"rows": 0, "sha256": ""}}
        yield "with_teammate", f"teammate {path}", edit_config(field, path, reseal=True)
        yield "with_teammate", f"learned {path}", edit_config(field[:-2], learned, reseal=True)
        yield "halfway", f"rows {path}", state(lambda header, r=rows: header["run"].update({"rows": r}))
        yield "halfway", f"more rows {path}", state(lambda header, r=rows: header["run"]["rows"].update(r))
    yield from moved()


def moved() -> Iterator[tuple[str, str, Damage]]:
    """Files that are missing, have another name, or are another file of the same run or of its neighbour."""
    copy = "teammates/other.safetensors"
    yield "with_teammate", "teammate bit", flip(copy)
    yield "with_teammate", "teammate earlier", take(f"other/{MIDDLE}", copy)
    yield "with_teammate", "teammate gone", lambda run, _: (run / copy).unlink()
    for name in ("9abc", "٣", "-1", "1e3", "16", "000000000017", ""):
        target = f"checkpoints/{name}.safetensors"
        yield "finished", f"named {name}", lambda run, _, t=target: (run / LAST).rename(run / t)
    yield "finished", "checkpoints swapped", lambda run, _: (run / MIDDLE).replace(run / LAST)
    yield "finished", "last checkpoint gone", lambda run, _: (run / LAST).unlink()
    yield "finished", "rows gone", lambda run, _: (run / "episodes.jsonl").unlink()
    for number in range(8):
        yield "archived", f"a bit of columns {number}", flip(COLUMNS)
    yield "archived", "columns cut", truncate(COLUMNS)
    yield "archived", "columns emptied", replace(COLUMNS, b"")
    yield "archived", "columns gone", lambda run, _: (run / COLUMNS).unlink()
    yield "archived", "last checkpoint gone", lambda run, _: (run / LAST).unlink()
    yield "archived", "last checkpoint of another seed", take(f"other/{LAST}", LAST)
    yield "archived", "state of another moment", take(f"halfway/{STATE}", STATE)
    yield "halfway", "state gone", lambda run, _: (run / STATE).unlink()
    yield "halfway", "state ahead", take(f"finished/{STATE}", STATE)


ALL = list(damages())
