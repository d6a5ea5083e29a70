"""The ports of both tables in memory, with the conditions of their adapters; one suite of contract tests runs over both
(tests/contract).
"""
