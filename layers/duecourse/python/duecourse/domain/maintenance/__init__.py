"""Decisions of maintenance: completeness audit, index repair, clean-up, archive."""
