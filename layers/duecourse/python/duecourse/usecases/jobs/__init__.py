"""Use cases of the API that concern jobs."""
