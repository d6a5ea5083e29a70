"""The benchmarks that measure the budgets. Run a benchmark with `python -m benchmarks.<name>`."""

import os

# The functions do not have awscrt, which the command line requires (requirements/dev.in). Without it botocore signs
# requests here as it does in the functions.
os.environ["BOTO_DISABLE_CRT"] = "true"
