"""How far a run on disk has come. Everything is checked here, and nothing is changed."""

from __future__ import annotations

import shlex
import warnings

from openteam.errors import UserError
from openteam.storage.checkpoint import read_arrays
from openteam.storage.rows import ROW_FILES, check_tally, parse_rows, read_lines
from openteam.storage.run_folder import Header, RunFolder
from openteam.storage.writing import Check
from openteam.threads import threads
from openteam.training.spec import RunSpec

Lines = dict[str, list[bytes]]


def check_headers(folder: RunFolder) -> None:
    """Raise unless the last checkpoint and the state belong to this run, which is known before the task is built."""
    folder.last()
    if folder.state.exists():
        folder.header(folder.state)


def is_done(folder: RunFolder, spec: RunSpec) -> bool:
    """Whether a run came to its end; raises if what it left is not what it wrote."""
    if folder.state.exists():
        checked_state(folder, spec)
    last = folder.last()
    if last is None or not folder.finished:
        return False
    if folder.archived:
        folder.rows(ROW_FILES[0])
    else:
        check_rows(folder, last[1])
    read_arrays(last[0])
    return True


def checked_state(folder: RunFolder, spec: RunSpec) -> tuple[Header, Lines]:
    """The state's header, which belongs to this run, and the rows that belong to it."""
    header = folder.header(folder.state)
    updates, checkpoint = header.get("updates"), header.get("checkpoint")
    if not (type(updates) is int and 0 <= updates <= spec.updates and type(checkpoint) is int):
        raise UserError(f"{folder.state} is damaged: it is of update {updates!r}, and the run has {spec.updates:,}.")
    return header, check_rows(folder, header)


def check_rows(folder: RunFolder, header: Header) -> Lines:
    """The rows that a header covers, as they were written."""
    tallies = header["run"]["rows"]
    return {name: check_tally(folder.path / name, read_lines(folder.path / name), tallies[name]) for name in ROW_FILES}


def cut_to_state(folder: RunFolder, check: Check) -> None:
    """Forget the rows that were written after the state, as resuming does: for a run that goes on elsewhere."""
    if folder.state.exists():
        kept = check_rows(folder, folder.header(folder.state))
    else:
        check_unbegun(folder)
        kept = {name: [] for name in ROW_FILES}
    folder.cut_rows(kept, check)


def warn_of_threads(folder: RunFolder, before: int | None) -> None:
    """Say so if a run goes on with another number of threads: the last digits of its numbers will be others."""
    if before != threads():
        warnings.warn(
            f"{folder.path} was trained with {before} threads of XLA and goes on with {threads()}, so it will not end "
            "in exactly the numbers of an uninterrupted run. The command openteam always uses one; in Python, call "
            "openteam.threads.use_one_thread() before JAX computes anything.",
            stacklevel=2,
        )


def warn_of_devices(folder: RunFolder, before: int, now: int) -> None:
    """Say so if a run goes on with another number of devices: sums across them are taken in another order."""
    if before != now:
        warnings.warn(
            f"{folder.path} was trained on {before} devices and goes on with {now}, so it will not end in exactly the "
            f"numbers of an uninterrupted run. For that, resume it with --devices {before}.",
            stacklevel=2,
        )


def check_unbegun(folder: RunFolder) -> None:
    """Raise if a run without a state has more than its first checkpoint, after which the first state is written."""
    last = folder.last()
    paths = [folder.path / name for name in ROW_FILES]
    steps = [row["step"] for path in paths for row in parse_rows(path, read_lines(path))]
    if folder.archived or max([0 if last is None else last[1]["step"], *steps], default=0) > 0:
        raise UserError(
            f"{folder.path} was trained but cannot be resumed: its state.safetensors, which holds the optimiser and "
            "the environments, is missing. Put it back, or begin a new run with the same configuration: "
            f"openteam resume {shlex.quote(str(folder.path))} --again NEW"
        )
