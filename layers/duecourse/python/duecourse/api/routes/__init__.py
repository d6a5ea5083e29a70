"""The routes, grouped by subject."""
