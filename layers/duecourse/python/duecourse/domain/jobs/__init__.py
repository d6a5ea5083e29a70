"""Definitions, cursors, and what changes them."""
