import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import ProgressBar from "@cloudscape-design/components/progress-bar";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator, { type StatusIndicatorProps } from "@cloudscape-design/components/status-indicator";
import { useRefusal } from "../app/context";
import { Time, useNow } from "../shared/Instant";
import { ProblemBox } from "../shared/ProblemBox";
import { useAction } from "../shared/useAction";
import { countsOf, isShown, type Operation, shareOf, whatOf } from "./texts";
import { cancel, useOperations } from "./useOperations";

const SAID: Record<Operation["state"], readonly [StatusIndicatorProps.Type, string]> = {
  RUNNING: ["in-progress", "Running"],
  SUCCEEDED: ["success", "Complete"],
  CANCELLED: ["stopped", "Cancelled"],
  FAILED: ["error", "Failed"],
};

const TITLES: Record<Operation["kind"], string> = {
  redrive: "Redrives",
  discard: "Discards",
  cancel: "Cancellations",
};

/** The operations of a kind that are running or have just ended; nothing if there are none. */
export function OperationsBox({ kind }: { kind: Operation["kind"] }) {
  const operations = useOperations().filter((each) => each.kind === kind);
  const now = useNow(operations.length > 0 ? 30_000 : null);
  const shown = operations.filter((each) => isShown(each, now));
  if (shown.length === 0) return null;
  return (
    <Container
      header={
        <Header variant="h2" description="They continue if you leave this page.">
          {TITLES[kind]}
        </Header>
      }
    >
      <SpaceBetween size="m">
        {shown.map((each) => (
          <Course key={each.id} operation={each} />
        ))}
      </SpaceBetween>
    </Container>
  );
}

function Course({ operation }: { operation: Operation }) {
  const action = useAction("Cancel", () => cancel(operation.id));
  const refusal = useRefusal("jobs:write");
  const [type, word] = SAID[operation.state];
  const running = operation.state === "RUNNING";
  const share = shareOf(operation);
  return (
    <SpaceBetween size="xxs">
      <SpaceBetween direction="horizontal" size="s" alignItems="center">
        <span className="text">{whatOf(operation)}</span>
        <StatusIndicator type={type}>{word}</StatusIndicator>
        {(running || operation.ended_at === null) && (
          <Button
            loading={action.busy}
            onClick={() => action.run()}
            disabled={refusal !== undefined}
            disabledReason={refusal}
            ariaLabel={`Cancel the operation ${operation.id}`}
          >
            Cancel
          </Button>
        )}
      </SpaceBetween>
      {running && share !== undefined && <ProgressBar value={share} ariaLabel={whatOf(operation)} />}
      <Box color="text-body-secondary">
        {countsOf(operation)}
        {running && operation.searched_to !== null && (
          <>
            , back to the runs of <Time at={operation.searched_to} brief />
          </>
        )}
      </Box>
      {operation.reason !== null && <div className="text">{operation.reason}</div>}
      <ProblemBox error={action.error} />
    </SpaceBetween>
  );
}
