"""What the API does with jobs."""
