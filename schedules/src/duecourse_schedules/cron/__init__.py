"""Cron expressions: fields, patterns, day sets."""
