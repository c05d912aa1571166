"""Conformance suites: run them on your own parts."""

from openteam.testing.check_host import check_host
from openteam.testing.check_learner import check_learner
from openteam.testing.check_openness import check_openness
from openteam.testing.check_policy import check_policy
from openteam.testing.check_view import check_view
from openteam.testing.check_world import check_world

__all__ = ["check_host", "check_learner", "check_openness", "check_policy", "check_view", "check_world"]
