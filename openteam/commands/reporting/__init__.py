"""A folder of runs as one page that can be sent to a stranger."""
