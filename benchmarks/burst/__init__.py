"""A simulated burst of jobs: the real dispatcher, with ports that enforce AWS's published limits."""
