"""Worlds: the physics of bodies in slots."""
