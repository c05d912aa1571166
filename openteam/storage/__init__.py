"""Runs on disk: folders, rows, checkpoints, configurations."""
