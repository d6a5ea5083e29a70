"""Lambda functions, their roles and their API."""
