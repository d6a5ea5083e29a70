"""Workflows: they start a run, start its steps in order, and end the run."""
