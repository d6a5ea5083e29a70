"""Helpers that the tests share."""

import os

# The functions have no awscrt, which the command line brings (requirements/dev.in): botocore signs here as there.
os.environ["BOTO_DISABLE_CRT"] = "true"
