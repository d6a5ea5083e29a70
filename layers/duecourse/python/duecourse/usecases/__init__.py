"""Use cases: load, decide (pure), write with a condition, send, report."""
