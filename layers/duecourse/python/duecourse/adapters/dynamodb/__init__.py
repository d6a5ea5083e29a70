"""The DynamoDB tables: keys, items and conditional writes."""
