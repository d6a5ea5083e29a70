"""Records of runs, and every decision about a run."""
