"""What the learner may see."""

from openteam.views.full import FullView, viewer_first

__all__ = ["FullView", "viewer_first"]
