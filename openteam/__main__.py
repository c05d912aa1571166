"""The command ``openteam``, also ``python -m openteam``."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Prepare the process, then run the command line."""
    # One thread per run: XLA's threads slow the small matrices here down. It must be said before JAX is imported.
    flags = os.environ.get("XLA_FLAGS", "")
    if "xla_cpu_multi_thread_eigen" not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} --xla_cpu_multi_thread_eigen=false".strip()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

    from openteam.cli import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
