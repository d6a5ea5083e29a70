"""Workflows on the local stack: hops, a PUT of many jobs, starts, and a wide workflow whose workers are killed."""
