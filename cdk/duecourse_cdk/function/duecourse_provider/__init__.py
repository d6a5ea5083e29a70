"""The function behind the constructs: it applies a job or a workflow when CloudFormation says so.

It runs in Lambda with what Python and the runtime have (urllib, botocore) and imports nothing else.
"""
