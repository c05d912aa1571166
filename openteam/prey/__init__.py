"""Wolfpack's prey as learners: their observations, the world that trains them, and the trained policies."""
