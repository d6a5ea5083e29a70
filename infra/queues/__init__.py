"""Queues, topics, the event bus."""
