"""Adapters: each module calls one AWS service or another external system."""
