"""Environments in plain Python as tasks: PettingZoo's parallel ones and classes of the user's own.

What runs in the environments' processes (all but ``task``) does without JAX, so that these start at once.
"""
