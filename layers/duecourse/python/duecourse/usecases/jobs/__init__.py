"""Use cases of the API about jobs."""
