"""Wolfpack's prey as learners: what they see, the world that trains them, and the trained ones."""
