"""Queues, topics and the event bus."""
