"""What a stage is made from, and what is rejected."""
