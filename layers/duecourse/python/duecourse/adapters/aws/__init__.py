"""AWS clients, and the services other than DynamoDB and SQS."""
