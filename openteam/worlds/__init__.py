"""Worlds: states, rules, features and pictures."""
