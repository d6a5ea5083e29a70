"""The whole system on one machine: MiniStack, the CDK app with stage `local`, and a receiver of the targets' calls."""
