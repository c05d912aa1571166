"""A page to watch a team, to ask what if, and to join it."""
