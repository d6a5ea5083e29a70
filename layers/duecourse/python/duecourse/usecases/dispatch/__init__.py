"""Ticks and dispatch rounds."""
