"""The life of a tenant: suspend, resume, export and erase, with the operator's AWS credentials."""
