"""Every test runs with shapes checked, keys checked for reuse, and one thread per process.

Nearly all of them compile for longer than they run, so XLA is told to hurry, here and in commands that tests give.
What runs for long says so itself.
"""

import gc
import os

os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_cpu_multi_thread_eigen=false --xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false "
    "--xla_cpu_parallel_codegen_split_count=1 --xla_cpu_opt_preset=FAST_COMPILE",
)
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("OPENTEAM_COMPILE", "quickest")

from jaxtyping import install_import_hook

install_import_hook("openteam", "beartype.beartype")

import jax  # noqa: E402
import pytest  # noqa: E402

from openteam.garbage import collect_garbage_rarely  # noqa: E402

jax.config.update("jax_debug_key_reuse", True)
collect_garbage_rarely()


def pytest_sessionfinish() -> None:
    """Look once for what nobody raised: pytest does five times, through millions of objects of traced programs."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def users_env(tmp_path_factory) -> dict[str, str]:
    """For commands in processes of their own: one cache of compiled programs for all of them, in all workers."""
    folder = tmp_path_factory.getbasetemp()
    shared = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    return os.environ | {"XDG_CACHE_HOME": str(shared / "cache"), "COLUMNS": "200"}


@pytest.fixture(scope="session")
def made_up_authors(tmp_path_factory) -> str:
    """A data folder into which agents with made-up numbers were imported as the authors'."""
    import numpy as np

    from openteam.teammates.authors.published import GROUPS, used
    from openteam.teammates.authors.store import write_group

    folder, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(folder))
        for group, published in GROUPS.items():
            agents = {
                file.member: {
                    part: {name: draw(rng, name, shape) for name, shape in used(file.network).items()}
                    for part in file.parts
                }
                for file in published.files
            }
            write_group(group, agents, {})
    return str(folder)


def draw(rng, name: str, shape: tuple[int, ...]):
    """Numbers of about the size that trained ones have; variances are positive."""
    numbers = rng.normal(size=shape).astype("float32") / max(shape[-1:] or (1,)) ** 0.5
    return abs(numbers) + 0.5 if "var" in name else numbers


@pytest.fixture
def authors_imported(made_up_authors, monkeypatch) -> None:
    """Commands and tasks find the made-up agents."""
    monkeypatch.setenv("XDG_DATA_HOME", made_up_authors)
