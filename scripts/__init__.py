"""Scripts around the project."""
