"""The function behind the constructs: it applies a job or a workflow on the request of CloudFormation.

It runs in Lambda with what Python and the runtime have (urllib, botocore) and imports nothing else.
"""
