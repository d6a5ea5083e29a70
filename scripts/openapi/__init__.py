"""Assembles the OpenAPI document, and its table of routes in docs/api.md (`python -m scripts.openapi docs/api.md`)."""
