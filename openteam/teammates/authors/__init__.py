"""Agents that the paper's authors published with their code, read from a user's own copy of it."""
