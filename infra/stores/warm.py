"""A stage's warm throughput as the tables and indexes want it."""

from aws_cdk import aws_dynamodb as dynamodb

from infra.settings.throughput_config import WarmThroughput


def warm(wanted: WarmThroughput | None) -> dynamodb.WarmThroughput | None:
    """None leaves the property out of the template, and with it the table's throughput to AWS."""
    if wanted is None:
        return None
    return dynamodb.WarmThroughput(read_units_per_second=wanted.reads, write_units_per_second=wanted.writes)
