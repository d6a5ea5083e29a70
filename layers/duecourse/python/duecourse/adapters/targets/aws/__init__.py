"""AWS targets."""
