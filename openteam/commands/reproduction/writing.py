"""What a reproduction leaves in its folder: tables in four formats, pictures in two, and a list of them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from openteam.commands.reproduction.tables import sheet_latex, sheet_text
from openteam.commands.sheets import Sheet, as_markdown, write
from openteam.drawing.figures import save_picture

LIST = "reproduction.json"


@dataclasses.dataclass
class Writer:
    """Writes tables and pictures below a folder; everything that is of smoke scale says so."""

    folder: Path
    note: str
    smoke: bool
    written: list[dict[str, Any]] = dataclasses.field(default_factory=list)

    def table(self, name: str, sheet: Sheet, csv: str) -> None:
        """As text, CSV, LaTeX and Markdown."""
        texts = {"txt": sheet_text(sheet), "csv": csv, "tex": sheet_latex(sheet), "md": as_markdown(sheet)}
        paths = [self.folder / "tables" / f"{name}.{suffix}" for suffix in texts]
        for path, text in zip(paths, texts.values(), strict=True):
            write(path, text)
        self.note_down(name, "table", sheet.title, paths)
        print(texts["txt"])

    def picture(self, name: str, title: str, figure: Any) -> None:
        """As PNG and SVG."""
        if self.smoke:
            figure.text(0.5, 0.5, "SMOKE", fontsize=60, color="#D55E00", alpha=0.16, ha="center", va="center",
                        rotation=20)  # fmt: skip
        paths = [self.folder / "figures" / f"{name}.{suffix}" for suffix in ("png", "svg")]
        for path in paths:
            save_picture(figure, path)
        self.note_down(name, "figure", title, paths)

    def missing(self, name: str, title: str, why: str) -> None:
        """What could not be made is on the list, too."""
        print(f"{title}: missing. {why}")
        self.written.append({"name": name, "kind": "missing", "title": title, "files": [], "why": why})

    def note_down(self, name: str, kind: str, title: str, paths: list[Path]) -> None:
        files = [str(path.relative_to(self.folder)) for path in paths]
        self.written.append({"name": name, "kind": kind, "title": title, "files": files})

    def finish(self, about: dict[str, Any]) -> None:
        """The list itself, with what other commands wrote before."""
        path = self.folder / LIST
        before = json.loads(path.read_text())["written"] if path.exists() else []
        names = {(one["kind"], one["name"]) for one in self.written}
        names |= {("missing", one["name"]) for one in self.written}
        kept = [one for one in before if (one["kind"], one["name"]) not in names]
        write(path, json.dumps(about | {"note": self.note, "written": [*kept, *self.written]}, indent=1) + "\n")
