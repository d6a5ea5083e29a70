"""The effect of seats: benchmarks.seats."""
