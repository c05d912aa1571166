"""Policies outside training: an agent that is asked by ids, exports that run without openteam, and packed runs."""
