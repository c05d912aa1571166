"""Every test runs with shapes checked, keys checked for reuse, and one thread per process.

Nearly all of them compile for longer than they run, so XLA is told to hurry. What runs for long says so itself.
"""

import os

os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_cpu_multi_thread_eigen=false --xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false",
)
os.environ.setdefault("JAX_PLATFORMS", "cpu")

from jaxtyping import install_import_hook

install_import_hook("openteam", "beartype.beartype")

import jax  # noqa: E402

jax.config.update("jax_debug_key_reuse", True)
