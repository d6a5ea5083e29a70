"""Disaster drills: each damages a local stack and repairs it with the commands of the documentation (`make drill`)."""
