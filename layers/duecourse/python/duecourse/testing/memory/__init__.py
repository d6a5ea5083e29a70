"""The ports of both tables in memory, with the conditions of the DynamoDB adapters. The same contract tests run over
both (tests/contract).
"""
