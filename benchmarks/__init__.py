"""What the budgets are measured with. Run one as `python -m benchmarks.<name>`."""

import os

# The functions have no awscrt, which the command line brings (requirements/dev.in): botocore signs here as there.
os.environ["BOTO_DISABLE_CRT"] = "true"
