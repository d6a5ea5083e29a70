import Alert from "@cloudscape-design/components/alert";
import Link from "@cloudscape-design/components/link";
import { to } from "../app/routes";

/** The editor of jobs is not that of workflows. */
export function IsWorkflow({ id }: { id: string }) {
  return (
    <Alert type="info" header="This job is a workflow">
      Edit it as a workflow: <Link href={to.editWorkflow(id)}>{id}</Link>.
    </Alert>
  );
}
