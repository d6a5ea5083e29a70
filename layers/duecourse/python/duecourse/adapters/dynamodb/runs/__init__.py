"""Items of runs."""
