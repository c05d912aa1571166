"""A run as a task of Ray, on a node without our disk, and the mailbox through which it tells what it has written."""

from __future__ import annotations

import asyncio
import os
import platform
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from openteam.errors import UserError
from openteam.execution.extras import needed

if TYPE_CHECKING:
    from openteam.execution.mirror import Change, Files, Mirror
    from openteam.training.driver import Progress

PAUSE = 0.3  # seconds between two looks into the mailbox
FULL = 1000  # letters; who wants to leave more has to wait


class Letter(NamedTuple):
    """What one task has written since its last one."""

    folder: Path
    attempt: int
    where: str
    process: int
    changes: list[Change]


class Mailbox:
    """An actor between tasks and us. Letters of an attempt that was given up are thrown away."""

    def __init__(self) -> None:
        self.letters: list[Letter] = []
        self.attempts: dict[Path, int] = {}
        self.stopping = False

    async def expect(self, folder: Path, attempt: int) -> None:
        """From now on, only this attempt may write to the run."""
        self.attempts[folder] = attempt

    async def put(self, letter: Letter) -> bool:
        """Leave a letter. False: stop."""
        if self.attempts.get(letter.folder) != letter.attempt:
            return False
        self.letters.append(letter)
        while len(self.letters) > FULL and not self.stopping:  # nobody empties it quickly enough
            await asyncio.sleep(PAUSE)
        return not self.stopping

    async def empty(self) -> list[Letter]:
        """All letters so far, in their order."""
        letters, self.letters = self.letters, []
        return letters

    async def stop(self) -> None:
        """Have everybody write a state and end."""
        self.stopping = True


class Parcel(NamedTuple):
    """All that a task needs."""

    folder: Path
    attempt: int
    files: Files
    imports: tuple[str, ...]
    sources: dict[str, bytes]
    """Modules of the user's that are not installed."""
    variables: dict[str, str]


def run_on_node(parcel: Parcel, mailbox: Any) -> str | None:
    """The task: a whole run in a folder of its own. Returns None, or why the run could not be brought to its end."""
    os.environ.update(parcel.variables)
    from openteam.threads import use_one_thread

    use_one_thread()
    from openteam.execution.mirror import Mirror, unpack
    from openteam.storage.imports import import_modules
    from openteam.training.driver import run_folders

    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "run"
        unpack(parcel.files, folder)
        put_sources(parcel.sources, Path(home))
        sender = Sender(parcel, mailbox, Mirror(folder))
        try:
            import_modules(parcel.imports)
            sender.report()
            run_folders([folder], sender.report)
        except UserError as error:
            return str(error).replace(str(folder), str(parcel.folder))
        except KeyboardInterrupt:  # we were told to stop, and the state is written
            return None
        finally:
            sender.send()
    return None


class Sender:
    """Tells the mailbox what a run has written."""

    def __init__(self, parcel: Parcel, mailbox: Any, mirror: Mirror):
        self.parcel, self.mailbox, self.mirror = parcel, mailbox, mirror

    def send(self) -> bool:
        """Whether to go on."""
        changes = self.mirror.changes()
        letter = Letter(self.parcel.folder, self.parcel.attempt, platform.node(), os.getpid(), changes)
        return needed("ray", "ray").get(self.mailbox.put.remote(letter))

    def report(self, progress: Progress | None = None) -> None:
        """What runs report to: nothing is being written then."""
        if not self.send():
            raise KeyboardInterrupt


def put_sources(sources: dict[str, bytes], home: Path) -> None:
    """The user's modules, where they can be imported."""
    for name, source in sources.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(source)
    sys.path.insert(0, str(home))
