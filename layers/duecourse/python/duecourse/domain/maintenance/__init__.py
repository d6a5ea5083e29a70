"""Decisions of what looks after jobs and runs: completeness audit, index repair, clean-up."""
