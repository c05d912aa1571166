"""The learned pieces, written for one environment; callers add the batch axes."""
