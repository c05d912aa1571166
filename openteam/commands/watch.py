"""``openteam watch``: a page to watch a team, to ask what if, and to join it."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tyro

from openteam.catalogue import catalogue, check_task
from openteam.commands.checks import check_episodes, check_policy, check_split, check_split_of_run, check_suffix
from openteam.commands.count import Count
from openteam.commands.importing import Imports
from openteam.errors import UserError, check_whole
from openteam.storage.imports import import_modules

if TYPE_CHECKING:
    from openteam.viewer.library import Library
    from openteam.viewer.server import Answer

NEEDED = ("starlette", "uvicorn", "websockets")
LAST_PORT = 65535


@dataclasses.dataclass(frozen=True)
class Watch:
    """Open a local page: watch an episode step by step, see why the learner acts, ask what if, play along, compare.

    Nothing leaves this machine: the server listens on 127.0.0.1 only, and its address holds a token.
    """

    what: tyro.conf.Positional[str]
    """A run folder or checkpoint; a folder with runs anywhere below, for a gallery of their learning curves; or a task,
    in which the learner then acts at random. openteam list names tasks."""
    against: Path | None = None
    """Another run on the same task, to compare with on the same seeds."""
    split: str = "train"
    """Condition to play under: train, larger, ..."""
    port: Count = 0
    """Where to listen on 127.0.0.1; 0 takes any free port."""
    browser: bool = True
    """Open a browser; --no-browser only prints the address."""
    export: Path | None = None
    """Write one .html file that shows recorded episodes with all panels, and open no page."""
    episodes: Count = 5
    """How many episodes an exported file holds."""
    seed: Count = 0
    """Which episodes an exported file holds: this seed and the next ones."""
    imports: Imports = ()

    def __call__(self) -> None:
        self.check()
        import_modules(self.imports)
        if self.export:
            self.write(self.export)
        else:
            self.serve()

    def check(self) -> None:
        """Everything that can be wrong before there is a task."""
        check_whole("--port", self.port, 0, LAST_PORT)
        if self.export:
            check_suffix("A page is written", self.export, (".html",))
            check_episodes(self.episodes, self.seed)
        elif missing := [name for name in NEEDED if importlib.util.find_spec(name) is None]:
            raise UserError(f"The page needs {', '.join(missing)}. Install them: pip install 'openteam[viewer]'")
        if self.against:
            check_policy(self.against)
        if self.of_task:
            check_task(self.what)
            check_split(self.what, self.split)
        elif not self.of_gallery:
            check_policy(Path(self.what))
            check_split_of_run(Path(self.what), self.split)
        if self.of_gallery and (self.export or self.against):
            raise UserError(f"{self.what} holds several runs. Give one of them to export it or to compare it.")
        if self.of_task and self.against:
            raise UserError("--against compares two runs; a task has no policy to compare. Give a run first.")

    @property
    def of_task(self) -> bool:
        return self.what in catalogue().tasks or not Path(self.what).exists()

    @property
    def of_gallery(self) -> bool:
        """Whether there are runs below the folder, and none in it."""
        path = Path(self.what)
        if self.of_task or not path.is_dir() or (path / "config.json").is_file():
            return False
        return next(path.rglob("config.json"), None) is not None

    def write(self, path: Path) -> None:
        """One file that shows itself."""
        from openteam.teammates import UniformRandom
        from openteam.viewer.notebook import show

        given = (UniformRandom(), self.what) if self.of_task else (self.what, None)
        shown = show(*given, self.split, episodes=self.episodes, seed=self.seed)
        print(f"{shown.write(path)}: {self.episodes} episodes, {len(shown.text) / 1e6:.2f} MB")

    def serve(self) -> None:
        """A page at once; what takes longer is loaded behind it."""
        from openteam.viewer.server import Site
        from openteam.viewer.serving import reserve, serve

        behind = Backstage(self)
        site = Site(behind.open, behind.gallery if self.of_gallery else None)
        serve(site, reserve(self.port), browser=self.browser, started=behind.prepare)

    def library(self) -> Library:
        """What pages can ask for."""
        from openteam.viewer.library import Choice, Library

        if self.of_task:
            return Library([], self.what, Choice(split=self.split))
        runs = [Path(self.what)]
        if self.of_gallery:
            from openteam.analysis.compare import find_runs

            runs = find_runs(runs)
        against = None if self.against is None else len(runs)
        return Library(
            [*runs, *([self.against] if self.against else [])],
            None,
            Choice(0, None, self.split, against),
            self.of_gallery,
        )


class Backstage:
    """Everything behind the server that needs JAX: loaded on a thread while the browser opens."""

    def __init__(self, command: Watch):
        self.command = command
        self.made: Library | None = None
        self.lock = threading.Lock()

    @property
    def library(self) -> Library:
        with self.lock:
            self.made = self.made or self.command.library()
            return self.made

    def open(self, asked: dict[str, str], tell: Callable[[str], None]) -> tuple[dict[str, Any], Answer]:
        """A page's session."""
        tell("starting")
        from openteam.viewer.opening import open_session

        return open_session(self.library, asked, tell)

    def gallery(self) -> dict[str, Any]:
        """Curves of all runs."""
        from openteam.viewer.gallery import gallery_of

        return gallery_of(self.library.runs)

    def prepare(self) -> None:
        """Have the first page's programs ready when it asks for them. What fails here fails again before its eyes."""
        first = self.gallery if self.command.of_gallery else lambda: self.open({}, lambda _: None)

        def try_first() -> None:
            with contextlib.suppress(Exception):
                first()

        threading.Thread(target=try_first, daemon=True).start()
