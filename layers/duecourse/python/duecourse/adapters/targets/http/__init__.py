"""HTTP targets."""
