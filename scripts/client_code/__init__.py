"""Generates the clients from the OpenAPI document.

Responses become frozen dataclasses, and bodies become TypedDicts. Each operation becomes one method of `Client` and one
of `AsyncClient`, which differ only in `await`.
"""
