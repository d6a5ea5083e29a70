"""A tick and its rounds."""
