"""``openteam pack``."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import tyro

from openteam.commands.checks import check_policy
from openteam.commands.importing import Imports
from openteam.deploy.targets import check_pack
from openteam.storage.imports import import_modules


@dataclasses.dataclass(frozen=True)
class Pack:
    """Make one file of a run, to give away: its last policy, configuration, results and a model card, and no code.

    openteam.load and openteam.Agent.load take it like a run. Unzipped, it is a run.
    """

    run: tyro.conf.Positional[Path]
    """Run folder."""
    out: Path
    """The file to write, such as forager.openteam.zip."""
    imports: Imports = ()

    def __call__(self) -> None:
        check_policy(self.run)
        check_pack(self.out)
        import_modules(self.imports)
        from openteam.deploy.pack import pack

        pack(self.run, self.out)
        print(f"{self.out}: {self.out.stat().st_size / 1e6:.1f} MB. Use it: openteam.Agent.load('{self.out}')")
