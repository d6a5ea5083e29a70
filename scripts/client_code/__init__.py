"""Writes the Python client's models and methods from openapi.json."""
