import Alert from "@cloudscape-design/components/alert";
import Button from "@cloudscape-design/components/button";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { asProblem } from "../api/problem";

/** The API's error for a failed request, and the remedy. A read (it has a `retry`) that failed in an outage refers to the
 * bar above the page, which has the message for all of them (ConnectionBar).
 */
export function ProblemBox({ error, retry }: { error: unknown; retry?: () => void }) {
  if (error === null || error === undefined) return null;
  const problem = asProblem(error);
  if (retry !== undefined && problem.passes)
    return (
      <div>
        <StatusIndicator type="pending">Not up to date: the last read failed.</StatusIndicator>{" "}
        <Button variant="inline-link" onClick={retry}>
          Try again
        </Button>
      </div>
    );
  return (
    <Alert type="error" header={problem.title} action={retry && <Button onClick={retry}>Try again</Button>}>
      <span className="text">{problem.detail}</span>
      {problem.fields.length > 0 && (
        <ul>
          {problem.fields.map((each) => (
            <li key={`${each.field} ${each.message}`} className="text">
              <strong>{each.field}</strong> {each.message}
            </li>
          ))}
        </ul>
      )}
      {problem.requestId && <div>Request {problem.requestId}</div>}
    </Alert>
  );
}
