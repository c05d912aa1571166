"""Every test runs with shapes checked, keys checked for reuse, and one thread per process."""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

from jaxtyping import install_import_hook

install_import_hook("openteam", "beartype.beartype")

import jax  # noqa: E402

jax.config.update("jax_debug_key_reuse", True)
