"""What a page's address asks for becomes a session. This is where JAX comes in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from openteam.compile_cache import use_compile_cache
from openteam.errors import UserError
from openteam.viewer.library import Choice, Library
from openteam.viewer.session import Session


def open_session(
    library: Library, asked: dict[str, str], tell: Callable[[str], None]
) -> tuple[dict[str, Any], Callable[[dict[str, Any]], Iterator[dict[str, Any]]]]:
    """A new session of what is asked for, after its programs are compiled."""
    use_compile_cache(shortest=0.0)
    tell("loading")
    stage = library.open(choice_of(asked, library.first))
    tell("compiling")
    library.compile(stage)
    return stage.describe() | {"gallery": library.is_gallery}, Session(stage).answer


def choice_of(asked: dict[str, str], default: Choice) -> Choice:
    """What an address such as ?run=3&step=1600000&split=larger asks for."""
    run = number(asked, "run")
    return Choice(
        run=default.run if run is None else run,
        step=number(asked, "step") if "step" in asked or run is not None else default.step,
        split=asked.get("split", default.split),
        against=number(asked, "against") if "against" in asked or run is not None else default.against,
    )


def number(asked: dict[str, str], name: str) -> int | None:
    """A number of an address, None if it is not there."""
    text = asked.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise UserError(f"'{name}' in the address must be a whole number.")
    return int(text)
