"""Conformance suites: run them on your own worlds."""

from openteam.testing.check_world import check_world

__all__ = ["check_world"]
