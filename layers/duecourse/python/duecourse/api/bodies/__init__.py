"""What requests may say, and what is rejected."""
