"""The HTTP API: it receives requests and returns JSON. Only functions/api uses it, and no other package imports
pydantic.
"""
