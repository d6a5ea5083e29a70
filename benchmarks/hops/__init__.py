"""Workflows on the local stack: hops, a PUT of many jobs, starts, a wide workflow whose workers die."""
