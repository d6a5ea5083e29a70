"""A package, so that its system is removed after the last test in it."""
