"""A burst of jobs, simulated: the real dispatcher over ports that keep AWS's published limits."""
