"""What a page is made of: HTML with marked places, a style, and modules that name each other ``openteam/NAME``."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files

PREFIX = "openteam/"


@cache
def page_files() -> dict[str, str]:
    """Everything, by name. Nothing else is ever served."""
    folder = files("openteam.viewer") / "page"
    return {part.name: part.read_text(encoding="utf-8") for part in folder.iterdir() if part.name[0] not in "._"}


def served() -> dict[str, str]:
    """Addresses of the modules on the server, relative to the page's."""
    return {PREFIX + name: f"./page/{name}" for name in page_files() if name.endswith(".js")}


def inlined() -> dict[str, str]:
    """Addresses that contain the modules that they stand for."""
    return {
        PREFIX + name: "data:text/javascript;base64," + base64.b64encode(text.encode()).decode()
        for name, text in page_files().items()
        if name.endswith(".js")
    }


def fill(name: str, parts: dict[str, str]) -> str:
    """A page with its parts in their places, each marked by a comment."""
    text = page_files()[name]
    for place, content in parts.items():
        text = text.replace(f"<!--{place}-->", content)
    return text


def served_page(name: str) -> tuple[str, str]:
    """A page as the server sends it, and the digest of the one script in it, the map of its modules."""
    modules = json.dumps({"imports": served()})
    text = fill(name, {
        "style": '<link rel="stylesheet" href="./page/style.css">',
        "modules": f'<script type="importmap">{modules}</script>',
        "start": f'<script type="module" src="./page/{name.replace("html", "js")}"></script>',
    })  # fmt: skip
    return text, base64.b64encode(hashlib.sha256(modules.encode()).digest()).decode()
