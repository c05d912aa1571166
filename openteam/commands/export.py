"""``openteam export``."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import tyro

from openteam.commands.checks import check_policy
from openteam.commands.count import Count
from openteam.commands.importing import Imports
from openteam.deploy.targets import Format, check_export
from openteam.storage.imports import import_modules


@dataclasses.dataclass(frozen=True)
class Export:
    """Write one decision of a trained policy in a form that runs without openteam: memory in, action and memory out.

    The folder also gets contract.json, which says what every number means, and run.py, which runs it: python run.py.
    """

    run: tyro.conf.Positional[Path]
    """Run folder (its last checkpoint), one checkpoint file, or a packed run."""
    to: Format
    """onnx runs with onnxruntime alone, numpy with numpy alone, stablehlo with JAX, also on accelerators."""
    out: Path
    """A new folder."""
    agents: Count | None = None
    """The largest team there is room for, the learner included; by default the largest of the run's task."""
    imports: Imports = ()

    def __call__(self) -> None:
        check_policy(self.run)
        check_export(self.to, self.out, self.agents)
        import_modules(self.imports)
        from openteam.deploy.export import export

        contract = export(self.run, self.to, self.out, self.agents)
        size = sum(file.stat().st_size for file in self.out.iterdir())
        print(
            f"{self.out}: {contract['task']} to {self.to} for up to {contract['agents']} agents, {size / 1e6:.1f} MB. "
            f"Try it: python {self.out / 'run.py'}"
        )
