"""Scripts for development and deployment."""
