"""Pictures, films and curves."""
