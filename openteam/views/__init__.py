"""What the learner may see."""

from openteam.views.full import FullView
from openteam.views.radius import Radius
from openteam.views.window import Window

__all__ = ["FullView", "Radius", "Window"]
