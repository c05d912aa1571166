"""Evaluation of frozen policies."""

from openteam.evaluation.episodes import Episodes, evaluate

__all__ = ["Episodes", "evaluate"]
