"""The tables of ``openteam bench``."""
