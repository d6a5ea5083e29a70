"""The cost of a cold start: the import of each function, the objects that it creates, and its first client."""
