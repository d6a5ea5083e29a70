"""Lateness on the local stack beside schedulers that people run themselves: `python -m benchmarks.local`."""
