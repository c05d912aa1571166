"""Every test runs with shapes checked, keys checked for reuse, and one thread per process.

Nearly all of them compile for longer than they run, so XLA is told to hurry. What runs for long says so itself.
"""

import os

os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_cpu_multi_thread_eigen=false --xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false "
    "--xla_cpu_parallel_codegen_split_count=1",
)
os.environ.setdefault("JAX_PLATFORMS", "cpu")

from jaxtyping import install_import_hook

install_import_hook("openteam", "beartype.beartype")

import jax  # noqa: E402
import pytest  # noqa: E402

jax.config.update("jax_debug_key_reuse", True)


@pytest.fixture(scope="session")
def users_env(tmp_path_factory) -> dict[str, str]:
    """For commands in processes of their own: one cache of compiled programs for all of them, in all workers."""
    folder = tmp_path_factory.getbasetemp()
    shared = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    return os.environ | {"XDG_CACHE_HOME": str(shared / "cache"), "COLUMNS": "200"}
