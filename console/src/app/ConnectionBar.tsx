import Alert from "@cloudscape-design/components/alert";
import { useEffect, useState } from "react";
import { useConnection } from "../api/connection";
import type { ApiProblem } from "../api/problem";
import { useZone } from "../shared/clock";
import { wall } from "../shared/time";

/** One message for an outage: the browser is offline, the API does not respond, or it rejects requests for a while. */
export function ConnectionBar() {
  const { online, seen, problem } = useConnection();
  const zone = useZone();
  const data = seen === null ? "nothing was loaded yet" : `data of ${wall(new Date(seen), zone).slice(11)}`;
  if (!online)
    return (
      <Alert type="warning" header={`Offline, ${data}`}>
        Nothing can be saved, and nothing is sent later. Repeat your action when the connection is back.
      </Alert>
    );
  if (problem === null || problem.status === 429) return <Limited problem={problem} />;
  return (
    <Alert type="error" header={`${problem.title}, ${data}`}>
      <span className="text">{problem.detail}</span>
      {problem.requestId && <div>Request {problem.requestId}</div>}
    </Alert>
  );
}

/** While the API rejects requests because of their rate: the seconds until the next try. */
function Limited({ problem }: { problem: ApiProblem | null }) {
  const [left, setLeft] = useState(0);
  useEffect(() => {
    if (problem !== null) setLeft((now) => Math.max(now, Math.ceil(problem.retryAfter ?? 1)));
  }, [problem]);
  useEffect(() => {
    if (left === 0) return;
    const timer = setTimeout(() => setLeft(left - 1), 1_000);
    return () => clearTimeout(timer);
  }, [left]);
  if (left === 0) return null;
  return (
    <Alert type="info" header="Too many requests">
      The page tries again in {left} s.
    </Alert>
  );
}
