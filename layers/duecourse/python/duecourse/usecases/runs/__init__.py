"""Use cases of the API about runs."""
