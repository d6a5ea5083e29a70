"""Wires use cases to AWS: only this package knows which adapter implements which port.

One module per function, so that a cold start imports only what its function needs. Called by handlers at their first
invocation, never at import.
"""
