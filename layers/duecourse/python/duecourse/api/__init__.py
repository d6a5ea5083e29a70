"""The edge: HTTP in, use case, JSON out. Used by functions/api alone; the only place that imports pydantic."""
