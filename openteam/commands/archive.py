"""``openteam archive``."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import tyro

from openteam.errors import UserError


@dataclasses.dataclass(frozen=True)
class Archive:
    """Make finished runs small, to keep or to share: rows become compressed columns, which numpy alone can read.

    Everything that reads runs reads archived ones too; they cannot be resumed, and need not be.
    """

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run folders, or folders with runs anywhere below."""
    every_checkpoint: bool = False
    """Keep all policies, as for analyses over training; else the last one."""
    rows_only: bool = False
    """Keep no policy at all: the run can be compared and drawn, and not be played any more."""

    def __call__(self) -> None:
        if self.every_checkpoint and self.rows_only:
            raise UserError("--every-checkpoint keeps all policies and --rows-only none: give one of them.")
        from openteam.storage.archive import archive, size_of
        from openteam.storage.run_folder import is_run

        missing = [path for path in self.runs if not path.exists()]
        if missing:
            raise UserError(f"There is no run at {missing[0]}.")
        found = sorted({config.parent for path in self.runs for config in path.rglob("config.json") if is_run(config)})
        if not found:
            raise UserError(f"There is no run in {', '.join(map(str, self.runs))}.")
        before = sum(map(size_of, found))
        for path in found:
            archive(path, self.every_checkpoint, self.rows_only)
        print(
            f"Archived {len(found)} runs: {before / 1e6:,.1f} MB before, {sum(map(size_of, found)) / 1e6:,.1f} MB now."
        )
