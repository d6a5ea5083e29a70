"""The function of the constructs. CloudFormation invokes it to apply a job or a workflow.

It runs in Lambda with only the standard library and the packages of the runtime (botocore).
"""
