"""The caller's AWS configuration: profile, credentials and region, found in the same places as by `aws` and `cdk`."""

from __future__ import annotations

import os
from typing import Any


def own_session() -> Any:
    """Return a botocore session. AWS_REGION takes precedence over the region that botocore finds."""
    import botocore.session

    session = botocore.session.get_session()
    if region := os.environ.get("AWS_REGION"):
        session.set_config_variable("region", region)
    return session
