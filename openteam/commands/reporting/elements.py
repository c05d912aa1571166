"""Pieces of HTML. Everything that comes from a file is escaped here."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from urllib.parse import quote

MIME = {".svg": "image/svg+xml", ".png": "image/png"}


def element(tag: str, *content: str, **attributes: str) -> str:
    """``content`` is HTML already; attributes are escaped. A trailing underscore in a name is dropped: ``class_``."""
    words = "".join(f' {name.rstrip("_")}="{escape(value)}"' for name, value in attributes.items())
    return f"<{tag}{words}>{''.join(content)}</{tag}>"


def text(value: object) -> str:
    """What somebody wrote, as HTML."""
    return escape(str(value))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are whole ``td`` elements, or HTML to put into one."""
    lines = [element("tr", *(cell if cell.startswith("<td") else element("td", cell) for cell in row)) for row in rows]
    top = element("tr", *(element("th", text(name)) for name in head))
    return element("div", element("table", top, *lines), class_="wide")


def picture(content: bytes, suffix: str, title: str) -> str:
    """A picture inside the page."""
    source = f"data:{MIME[suffix]};base64,{base64.b64encode(content).decode()}"
    image = f'<img src="{source}" alt="{escape(title)}">'
    return element("figure", image, element("figcaption", text(title)))


def link_to(path: Path, page: Path) -> str:
    """A run's folder, relative to where the page is."""
    where = os.path.relpath(path.resolve(), page.resolve().parent)
    return element("a", text(path), href=quote(where))


def pairs(rows: Iterable[tuple[str, str]]) -> str:
    """Names and what they are; the latter is HTML."""
    return element("dl", *(element("dt", text(name)) + element("dd", value) for name, value in rows))
