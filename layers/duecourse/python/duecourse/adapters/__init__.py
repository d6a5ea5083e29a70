"""The edges: each module speaks to one AWS service or to the outside."""
