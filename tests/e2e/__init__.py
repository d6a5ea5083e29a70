"""A package, so that its system ends with the last test here."""
