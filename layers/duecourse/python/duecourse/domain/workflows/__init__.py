"""Workflows: jobs whose target is a graph of jobs, and what the end of one means for the others."""
