"""Targets of runs, and the content of calls."""
