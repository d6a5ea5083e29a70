"""What seats are worth: benchmarks.seats."""
