"""What a cold start costs: the import of each function, what it makes of itself, and its first client."""
