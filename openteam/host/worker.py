"""A process with a few environments: reads what to do from its standard input and answers on its standard output.

It is started with a bare interpreter and not by ``multiprocessing``, which would run the user's script a second time
and refuses to start processes from those of a plan. When its parent is gone, its input ends, and so does it.
"""

from __future__ import annotations

import os
import pickle
import sys
from typing import Any, BinaryIO

from openteam.errors import UserError
from openteam.host.environment import Environment
from openteam.host.seen import Outcome, Seen, Sizes, stack
from openteam.host.settings import HostSettings

COMMAND = "from openteam.host.worker import serve; serve()"


class Group:
    """Environments side by side in this process."""

    def __init__(self, settings: HostSettings, sizes: Sizes, count: int):
        self.environments = [Environment(settings, sizes) for _ in range(count)]

    def start(self, seeds: Any) -> Seen:
        """New episodes."""
        return stack([one.start(int(seed)) for one, seed in zip(self.environments, seeds, strict=True)])

    def step(self, actions: Any, seeds: Any) -> Outcome:
        """One step of each; where an episode ends, the next one begins with the seed given here."""
        each = zip(self.environments, actions, seeds, strict=True)
        return stack([one.step(action, int(seed)) for one, action, seed in each])

    def close(self) -> None:
        """Give everything back."""
        for one in self.environments:
            one.close()


def serve() -> None:
    """Do what is asked until nothing more is."""
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever the user's code prints goes elsewhere
    group = None
    try:
        while True:
            verb, arguments = pickle.load(asked)
            if verb == "open":
                sys.path[:], *what = arguments
                group = Group(*what)
                answer(answers, None)
            else:
                answer(answers, getattr(group, verb)(*arguments))
    except EOFError:
        pass
    except UserError as error:
        answer(answers, error)
    finally:
        if group is not None:
            group.close()


def answer(answers: BinaryIO, value: Any) -> None:
    """Send a value, or an error as its kind and its sentence."""
    message = (type(value), str(value)) if isinstance(value, UserError) else value
    pickle.dump(message, answers, pickle.HIGHEST_PROTOCOL)
    answers.flush()
