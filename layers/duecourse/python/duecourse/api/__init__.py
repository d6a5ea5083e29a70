"""The HTTP API. Only functions/api uses this package, and no other package imports pydantic."""
