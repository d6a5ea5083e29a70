"""The maximum cost of one request."""
