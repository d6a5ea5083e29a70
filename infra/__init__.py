"""The stack as code. Nothing here imports code that runs in the functions."""

import os

# Node 20 is supported. Without this, each synthesis prints a banner about its age. aws_cdk reads it when it is
# imported.
os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "20")
