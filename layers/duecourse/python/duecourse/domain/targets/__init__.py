"""What a run may call, and what it is called with."""
