"""Workflows: jobs whose target is a graph of other jobs, and the effects of the end of one step on the others."""
