import Alert from "@cloudscape-design/components/alert";
import Button from "@cloudscape-design/components/button";
import { asProblem } from "../api/problem";

/** The API's error for a failed request, and the remedy. */
export function ProblemBox({ error, retry }: { error: unknown; retry?: () => void }) {
  if (error === null || error === undefined) return null;
  const problem = asProblem(error);
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
