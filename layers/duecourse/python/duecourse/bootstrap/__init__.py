"""Wires use cases to AWS: the one place that knows which adapter stands behind which port.

One module a function, so that a cold start imports what its function needs. Called by handlers at their first
invocation, never at import.
"""
