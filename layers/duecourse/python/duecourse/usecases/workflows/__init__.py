"""Workflows: begin a run of one, start its steps in their turn, end it."""
