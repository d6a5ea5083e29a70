"""Lateness on the local stack in comparison with self-hosted schedulers: `python -m benchmarks.local`."""
