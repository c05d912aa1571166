"""Policies in tasks: acting, joint acting, whole episodes."""
