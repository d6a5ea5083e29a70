"""What the API does with runs."""
