"""The stack as code. Nothing here imports what runs in the functions."""

import os

# Node 20 works; without this each synthesis would print a banner about its age. Read when aws_cdk is imported.
os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "20")
