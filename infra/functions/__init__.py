"""Functions, their roles and their API."""
