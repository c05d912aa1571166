"""What the learner may see."""

from openteam.views.full import FullView, viewer_first
from openteam.views.radius import Radius
from openteam.views.window import Window

__all__ = ["FullView", "Radius", "Window", "viewer_first"]
