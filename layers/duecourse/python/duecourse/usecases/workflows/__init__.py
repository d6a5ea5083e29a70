"""Workflows: begin a run of one, start its members in their turn, end it."""
