"""The paper's tables and figures out of runs: as text, CSV, LaTeX, Markdown and pictures."""
