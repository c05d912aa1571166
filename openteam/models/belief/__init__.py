"""Beliefs about what the learner does not see."""
