"""One cold start, in the interpreter that was started for it: `python -P child.py FUNCTION` prints seconds as JSON.

This module imports nothing that the measurement could miss: every interpreter has already loaded `sys` and `time`.
"""

import sys
import time

begin = time.perf_counter()
name = sys.argv[1]
if name == "boto3":
    import boto3

    imported = time.perf_counter()
    built = imported
    boto3.client("dynamodb")
else:
    handler = __import__(f"functions.{name}.handler", fromlist=["handler"])
    imported = time.perf_counter()
    made = getattr(handler, sys.argv[2], None) if len(sys.argv) > 2 else None
    if made is not None:
        made()
    built = time.perf_counter()
    if "boto3" in sys.modules:
        from duecourse.adapters.aws.clients import clients

        clients().get("dynamodb")
done = time.perf_counter()
print(f'{{"import": {imported - begin}, "build": {built - imported}, "client": {done - built}}}')
