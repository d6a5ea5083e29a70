"""Records of runs, and all decisions about a run."""
