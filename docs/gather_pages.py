"""Gather what the site shows into one folder: ``python docs/gather_pages.py build/pages``, as ``make docs`` does.

Pages keep their places, so links between them stay as they are. Pictures and other files that a page links to come
along. A link to a folder, which a site cannot show, becomes its text.
"""

from __future__ import annotations

import re
import shutil
import sys
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**/*.md", "results/README.md")
LINK = re.compile(r"\[([^\]]*)\]\((?!https?:)([^)#\s]+)(#[^)\s]*)?\)")


def gather(target: Path) -> None:
    """Write all pages and what they link to."""
    shutil.rmtree(target, ignore_errors=True)
    for page in [path for pattern in PAGES for path in ROOT.glob(pattern)]:
        text = page.read_text(encoding="utf-8")
        for _, link, _ in LINK.findall(text):
            linked = (page.parent / link).resolve()
            if linked.is_file() and linked.suffix != ".md":
                copy(linked, target)
        place(page, target).write_text(LINK.sub(partial(without_folder, page), text), encoding="utf-8")


def without_folder(page: Path, found: re.Match[str]) -> str:
    """A link, or its text if it leads to a folder."""
    return found[1] if (page.parent / found[2]).is_dir() else found[0]


def copy(file: Path, target: Path) -> None:
    """The same file at its place in the folder."""
    shutil.copyfile(file, place(file, target))


def place(file: Path, target: Path) -> Path:
    """Where a file of the repository goes."""
    there = target / file.relative_to(ROOT)
    there.parent.mkdir(parents=True, exist_ok=True)
    return there


if __name__ == "__main__":
    gather(Path(sys.argv[1]))
