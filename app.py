#!/usr/bin/env python3
"""What `cdk` runs (see cdk.json): `cdk synth -c stage=local|dev|prod`."""

import sys

from infra.application import build
from infra.config import ConfigError

if __name__ == "__main__":
    try:
        build().synth()
    except ConfigError as error:
        sys.exit(f"duecourse: {error}")
