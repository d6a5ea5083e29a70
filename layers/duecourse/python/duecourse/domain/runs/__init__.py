"""Records of runs, and every decision on one."""
