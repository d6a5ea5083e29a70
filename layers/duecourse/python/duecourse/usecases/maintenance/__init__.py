"""Maintenance: completeness audit, index repair with clean-up, dead-letter reconciler, and archive."""
