"""A wire that answers at once: what a client costs when DynamoDB and SQS cost nothing."""
