import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import ProgressBar from "@cloudscape-design/components/progress-bar";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { asProblem } from "../api/problem";
import { failureText } from "../job/reasons";
import { Time } from "../shared/Instant";
import { ProblemBox } from "../shared/ProblemBox";
import { webAddress } from "./links";
import type { ReadPayload, ReadRun } from "./reading";
import { isOver, type SingleRun } from "./strip";

/** The reported progress; not shown for a run that succeeded, because its last report was made before its end. */
export function Progress({ run, zone }: { run: SingleRun; zone: string }) {
  if (run.state === "SUCCEEDED") return null;
  if (run.heartbeat_at === null && run.progress === null && run.note === null) return null;
  return (
    <Container header={<Header>Progress</Header>}>
      {run.progress !== null && (
        <ProgressBar
          ariaLabel="Progress"
          value={run.progress * 100}
          status={isOver(run) ? "error" : "in-progress"}
          resultText={`Ended at ${Math.round(run.progress * 100)}%`}
        />
      )}
      <div className="text">{run.note}</div>
      {run.heartbeat_at !== null && (
        <Box color="text-body-secondary">
          Last heartbeat <Time at={run.heartbeat_at} zone={zone} />
        </Box>
      )}
    </Container>
  );
}

/** The complete error. */
export function Failure({ run }: { run: SingleRun }) {
  if (run.error === null) return null;
  const failed = run.state === "DEAD" || run.state === "CANCELLED";
  return (
    <Alert type={failed ? "error" : "warning"} header={failureText(run)}>
      <pre className="pre text">{run.error}</pre>
      {run.code !== null && (
        <Box color="text-body-secondary">
          Code: <code>{run.code}</code>
        </Box>
      )}
    </Alert>
  );
}

/** The target's response. */
export function Result({ run }: { run: ReadRun }) {
  const link = webAddress(run.result_url);
  const bytes = run.result_bytes;
  const elsewhere = run.result_location;
  if (run.result === null && link === null && !bytes) return null;
  return (
    <Container header={<Header description={bytes === null ? undefined : `${bytes} bytes`}>Result</Header>}>
      <SpaceBetween size="xs">
        {elsewhere !== null && (
          <Box>
            Stored at <code>{elsewhere}</code>
          </Box>
        )}
        {run.result_error !== null && (
          <Alert type="warning">The bucket did not accept the result: {run.result_error}</Alert>
        )}
        {link !== null ? (
          <Link external href={link}>
            Download
          </Link>
        ) : (
          (run.result !== null || elsewhere === null) && <Json text={run.resultText} />
        )}
      </SpaceBetween>
    </Container>
  );
}

/** The payload that the target receives. */
export function Message({ sent, error }: { sent: ReadPayload | undefined; error: unknown }) {
  return (
    <Container header={<Header>Payload</Header>}>
      {sent !== undefined ? (
        <Payload sent={sent} />
      ) : asProblem(error).status === 409 ? (
        <Box>The job and its payload were deleted.</Box>
      ) : (
        <ProblemBox error={error} />
      )}
    </Container>
  );
}

/** The payload with which the run was sent, as the API computes it again. */
export function Payload({ sent }: { sent: ReadPayload }) {
  if (sent.problem !== null) return <Box>The payload is not available: {sent.problem}.</Box>;
  return (
    <SpaceBetween size="xs">
      <Box color="text-body-secondary">
        {sent.own ? "The payload of the request that started the run. " : "The job's payload. "}
        {sent.changed && "The job was changed later: the last attempt may have sent a different payload."}
      </Box>
      {sent.payload === null ? <Box>There is no payload.</Box> : <Json text={sent.payloadText} />}
      <Box color="text-body-secondary">
        Idempotency key: <code>{sent.idempotency_key}</code>
      </Box>
    </SpaceBetween>
  );
}

function Json({ text }: { text: string }) {
  return <pre className="pre text">{text}</pre>;
}
