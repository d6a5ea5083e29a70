"""A stub that responds immediately (the wire): it measures the cost of a client without the time of
DynamoDB and SQS.
"""
