"""Responses for people (tables) and for programs (JSON)."""
