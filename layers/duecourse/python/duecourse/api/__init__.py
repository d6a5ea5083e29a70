"""The HTTP API: requests in, JSON out. Used only by functions/api; the only package that imports pydantic."""
