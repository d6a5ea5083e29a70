import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Grid from "@cloudscape-design/components/grid";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { asProblem } from "../api/problem";
import { useRefusal } from "../app/context";
import { to } from "../app/routes";
import { Time } from "../shared/Instant";
import { ProblemBox } from "../shared/ProblemBox";
import { useSettled } from "../shared/useSettled";
import Graph from "../workflows/Graph";
import { inexact } from "./document";
import { JsonSide } from "./JsonSide";
import { stepsOf } from "./steps";
import { type Editor, fieldsOf } from "./useEditor";
import { useLeaving } from "./useLeaving";
import { effectsOf, putWorkflow } from "./workflow";

/** The pause in typing after which the API checks the text (ms). Each step that defines its job costs a request. */
const PAUSE_MS = 1_000;

/** The JSON of a workflow, with its graph and the result of the API's dry run, and the buttons that save it. */
export function WorkflowEditor({
  title,
  id,
  editor,
  save,
}: {
  title: string;
  /** Undefined while it has none. */
  id: string | undefined;
  editor: Editor;
  save: { text: string; busy: boolean; error: unknown; run(): void; cancel: string };
}) {
  const refusal = useRefusal("jobs:write");
  const modal = useLeaving(editor.unsaved, asProblem(save.error).status !== 401);
  const { text, syntax } = editor.written;
  const settled = useSettled(text, PAUSE_MS);
  const etag = editor.base?.etag ?? null;
  const trial = useQuery({
    queryKey: ["workflow trial", id, etag, settled],
    queryFn: ({ signal }) => putWorkflow(id ?? "", editor.doc, etag, true, signal),
    enabled: id !== undefined && syntax === null && settled === text && refusal === undefined,
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
    gcTime: 0,
  });
  const rounded = inexact(editor.doc).length > 0;
  const why =
    refusal ??
    (syntax === null ? undefined : "The JSON is not valid.") ??
    (id === undefined ? "The workflow has no id. Add an id field." : undefined) ??
    (rounded ? "A number would be rounded; see the message below the JSON." : undefined);
  const steps = stepsOf(editor.doc);
  return (
    <SpaceBetween size="l">
      {modal}
      <Header
        variant="h1"
        description="A step with a job field creates or replaces that job. A step without one runs the existing job with the step's name, or with the id in job_id."
      >
        <span className="text">{title}</span>
      </Header>
      {editor.found !== null && (
        <Alert
          type="info"
          header="Unsaved changes restored"
          action={<Button onClick={editor.startOver}>Start over</Button>}
        >
          These changes were stored in this tab at <Time at={editor.found} />. Continue editing, or start
          over.
        </Alert>
      )}
      <Grid gridDefinition={[{ colspan: { default: 12, s: 6 } }, { colspan: { default: 12, s: 6 } }]}>
        <JsonSide
          editor={editor}
          what="workflow"
          errors={settled === text ? fieldsOf(save.error ?? trial.error) : []}
        />
        <SpaceBetween size="m">
          <Container
            header={
              <Header variant="h2" counter={`(${steps.length})`}>
                Graph
              </Header>
            }
          >
            {steps.length === 0 ? (
              <Box color="text-body-secondary">No steps yet. Add them to the jobs field.</Box>
            ) : (
              <Graph steps={steps} label="Graph of the steps; the JSON has the same data" />
            )}
          </Container>
          <section aria-label="API validation" aria-live="polite">
            {syntax !== null || why !== undefined ? (
              <StatusIndicator type="pending">{why}</StatusIndicator>
            ) : trial.error !== null && settled === text && save.error === null ? (
              <Refused id={id} exists={etag === null} error={trial.error} />
            ) : trial.data === undefined || trial.isFetching || settled !== text ? (
              <StatusIndicator type="loading">Checking</StatusIndicator>
            ) : (
              <>
                <StatusIndicator type="success">The workflow is valid</StatusIndicator>
                <Box>Schedule: {trial.data.understood_as ?? "only on demand"}.</Box>
                <Box>{effectsOf(trial.data) || "Nothing would change."}</Box>
              </>
            )}
          </section>
        </SpaceBetween>
      </Grid>
      {save.error !== null && <Refused id={id} exists={etag === null} error={save.error} />}
      <Box float="right">
        <SpaceBetween direction="horizontal" size="xs">
          <Button variant="link" href={save.cancel}>
            Cancel
          </Button>
          <Button
            variant="primary"
            loading={save.busy}
            disabled={why !== undefined}
            disabledReason={why}
            onClick={save.run}
          >
            {save.text}
          </Button>
        </SpaceBetween>
      </Box>
    </SpaceBetween>
  );
}

/** The API's errors. An unexpected version (412) has its own remedy. */
function Refused({ id = "", exists, error }: { id?: string; exists: boolean; error: unknown }) {
  if (asProblem(error).status !== 412) return <ProblemBox error={error} />;
  return exists ? (
    <Alert type="error" header={`${id} already exists`}>
      Choose another id, or <Link href={to.editWorkflow(id)}>edit the workflow {id}</Link>.
    </Alert>
  ) : (
    <Alert type="warning" header={`${id} was changed by another user`}>
      Choose Review changes to see the other user's change and reapply yours.
    </Alert>
  );
}
