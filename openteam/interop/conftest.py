"""Environments of tests are compiled in a third of the time."""

import inspect

import pytest

from openteam.compile_cache import once_jit


@pytest.fixture(scope="session", autouse=True)
def compiled_quickly(request):
    """Every program is compiled with the fewest optimisations, once for all tests."""
    from openteam.interop import gymnasium_env, gymnasium_vector, team_playing

    programs = {
        gymnasium_env: ("begin_one", "proceed_one"),
        gymnasium_vector: ("begin_many", "proceed_many"),
        team_playing: ("begin_team", "proceed_team"),
    }
    patch = pytest.MonkeyPatch()
    request.addfinalizer(patch.undo)  # noqa: PT021  (checked functions cannot yield)
    for module, names in programs.items():
        for name in names:
            patch.setattr(module, name, once_jit(inspect.unwrap(getattr(module, name))))
