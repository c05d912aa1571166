"""Two tiny runs on one tiny task, whose programs are compiled once, and a server that shows them."""

import threading
import time
from pathlib import Path

import jax
import numpy as np
import pytest

import openteam
from openteam.compile_cache import once_jit
from openteam.core import random
from openteam.models.agent import AgentModelSizes
from openteam.openness.lifetimes import Lifetimes
from openteam.rollout.episodes import Episodes
from openteam.storage.config import to_json
from openteam.storage.policies import save_policy
from openteam.storage.run_folder import RunFolder
from openteam.viewer.gallery import gallery_of
from openteam.viewer.library import Choice, Library
from openteam.viewer.opening import open_session
from openteam.viewer.server import Site
from openteam.viewer.serving import Place, reserve, server_of

HOSTILE = "<img src=x onerror=boom()>"  # somebody's name for a run
TASK = openteam.Task(
    name="tiny", world=openteam.Foraging(size=5, foods=1), pool=openteam.Pool((openteam.Foragers(("H1", "H4")),)),
    openness=Lifetimes(cap=4, start_low=3, start_high=3, teammates=3, lifetime=(3, 6), wait=(2, 4)), horizon=12,
)  # fmt: skip
LEARNER = openteam.GPL(
    head=openteam.CoordinationGraph(openteam.Factored(2), width=4), agent_model=AgentModelSizes(4, 4, 4),
    encoder_width=4, hidden=4, type_size=3,
)  # fmt: skip


@pytest.fixture(scope="session")
def runs(tmp_path_factory) -> list[Path]:
    """Two seeds with a checkpoint each. They learned nothing, but they have opinions: their numbers are large."""
    home = tmp_path_factory.mktemp("runs") / HOSTILE
    init = once_jit(lambda key: jax.tree.map(lambda x: 4 * x, LEARNER.init(key, TASK.spec).model))
    for seed in (0, 1):
        settings = {"steps": 100, "checkpoint_every": 100, "evaluation_episodes": 2}
        config = {"task": to_json(TASK), "learner": to_json(LEARNER), "settings": settings, "seed": seed}
        folder = RunFolder.create(home / f"seed-{seed}", config)
        folder.append("episodes.jsonl", Episodes(np.full(2, 1.5 + seed), np.ones(2, int)).rows(100, "train"))
        save_policy(
            folder.checkpoint(100), LEARNER, init(random.key(seed)), task=TASK.name, spec=TASK.spec, step=100,
            run=folder.coverage(),
        )  # fmt: skip
    return [home / f"seed-{seed}" for seed in (0, 1)]


@pytest.fixture(scope="session")
def library(runs) -> Library:
    """Both runs, the second as the first one's rival."""
    return Library(runs, None, Choice(0, None, "train", 1), is_gallery=True)


@pytest.fixture(scope="session")
def stage(library):
    """The first run on its task."""
    return library.open(library.first)


@pytest.fixture(scope="session")
def place(library, request) -> Place:
    """A server on a thread, as ``openteam watch FOLDER`` runs it."""
    place = reserve()
    site = Site(lambda asked, tell: open_session(library, asked, tell), lambda: gallery_of(library.runs))
    server = server_of(site, place)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [place.listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    request.addfinalizer(lambda: setattr(server, "should_exit", True))  # noqa: PT021  (checked functions cannot yield)
    return place
