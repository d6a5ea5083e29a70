"""The function of the constructs, which applies a job or a workflow on the request of CloudFormation.

It runs in Lambda with only the standard library and the packages of the runtime (botocore).
"""
