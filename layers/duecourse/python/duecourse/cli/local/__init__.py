"""The whole system on one machine: MiniStack, the CDK app with the `local` stage, and a receiver of the targets'
calls.
"""
