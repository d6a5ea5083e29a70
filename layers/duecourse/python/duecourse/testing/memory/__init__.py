"""In-memory implementations of the ports of both tables, with the conditions of the DynamoDB adapters. The same
contract tests check both (tests/contract).
"""
