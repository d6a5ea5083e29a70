"""The format and the validation of request bodies."""
