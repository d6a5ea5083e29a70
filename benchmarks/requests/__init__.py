"""What one request may cost."""
