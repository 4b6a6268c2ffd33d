"""Records kept: one SQLite file, every run in it."""
