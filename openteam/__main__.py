"""The command ``openteam``, also ``python -m openteam``."""

from __future__ import annotations

import os
import sys

from openteam.garbage import collect_garbage_rarely
from openteam.threads import use_one_thread


def main() -> None:
    """Prepare the process, then run the command line."""
    use_one_thread()
    collect_garbage_rarely()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

    from openteam.cli import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
