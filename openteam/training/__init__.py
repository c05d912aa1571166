"""The driver: collect, update, evaluate, write."""
