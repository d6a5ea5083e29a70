"""Roles in whose name jobs call AWS."""

from __future__ import annotations

import re
from collections import OrderedDict
from threading import Lock

from duecourse.adapters.aws.clients import Credentials
from duecourse.adapters.targets.aws.aws_errors import HANDOVER_SECONDS, ClientFor, wait_of
from duecourse.adapters.targets.aws.names import Arns
from duecourse.adapters.targets.http.deadline import Deadline
from duecourse.ports import Call, Clock

_EARLY_SECONDS = 300
"""Credentials are renewed so long before they expire: a call that starts with them also ends with them."""

_KEPT = 256
_SESSION_CHARACTERS = 64
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")


class Roles:
    """Credentials of roles of the stage's own account, by sts:AssumeRole. Safe to share between threads.

    A session belongs to a job and is named `<tenant>.<job>`: logs then tell whose call it was, and a role's trust
    policy can admit some tenants only (`sts:RoleSessionName` like `acme.*`).
    """

    def __init__(self, clock: Clock, sts_for: ClientFor, arns: Arns) -> None:
        self._clock = clock
        self._sts_for = sts_for
        self._arns = arns
        self._known: OrderedDict[tuple[str, str], Credentials] = OrderedDict()
        self._lock = Lock()

    def assume(self, role: str, call: Call, deadline: Deadline) -> Credentials:
        """Credentials of `role` for the call's job, with five minutes left at least. Raises botocore's errors and
        TimeoutError.
        """
        session = session_name(call)
        with self._lock:
            known = self._known.get((role, session))
        if known is not None and known.expires_at - _EARLY_SECONDS > self._clock.now():
            return known
        seconds = min(wait_of(deadline), HANDOVER_SECONDS)
        answer = self._sts_for(seconds).assume_role(RoleArn=self._arns.role_arn(role), RoleSessionName=session)
        given = answer["Credentials"]
        credentials = Credentials(
            given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"], given["Expiration"].timestamp()
        )
        with self._lock:
            self._known[role, session] = credentials
            self._known.move_to_end((role, session))
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return credentials

    def forget(self, role: str, call: Call) -> None:
        """The service did not accept them: the role may have been made anew. The next attempt asks again."""
        with self._lock:
            self._known.pop((role, session_name(call)), None)


def session_name(call: Call) -> str:
    """`acme.nightly`, cut to 64 characters: what is left begins with the whole tenant always."""
    return _UNSAFE.sub("-", f"{call.run.tenant}.{call.run.job_id}")[:_SESSION_CHARACTERS]
