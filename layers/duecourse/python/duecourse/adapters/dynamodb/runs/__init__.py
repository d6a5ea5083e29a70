"""The items of runs."""
