#!/usr/bin/env python3
"""The CDK app (see cdk.json): `cdk synth -c stage=local|dev|prod`."""

import sys
from pathlib import Path

from infra.application import build
from infra.settings.config import ConfigError
from infra.sizes import size_problems
from scripts.generated import GenerationError

if __name__ == "__main__":
    try:
        assembly = build(checked=True, settings=Path(__file__).parent / "settings").synth()
        if problems := [each for stack in assembly.stacks for each in size_problems(stack.template)]:
            sys.exit("\n".join(f"duecourse: {each}" for each in problems))
    except (ConfigError, GenerationError) as error:
        sys.exit(f"duecourse: {error}")
    except RuntimeError as error:
        if not str(error).startswith("ValidationFailed"):
            raise
        sys.exit("duecourse: correct the findings above, or acknowledge them at the resource (infra/nag.py)")
