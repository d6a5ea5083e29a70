import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import ExpandableSection from "@cloudscape-design/components/expandable-section";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import Modal from "@cloudscape-design/components/modal";
import ProgressBar from "@cloudscape-design/components/progress-bar";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { useState } from "react";
import { ProblemBox } from "../shared/ProblemBox";
import { type Plan, type Redrive, useRedrive } from "./useRedrive";

const FASTEST = 1_000;

/** Shows the number of runs, prompts for the rate limit, and shows the progress. */
export function RedriveDialog({ plan, close }: { plan: Plan; close(): void }) {
  const redrive = useRedrive(plan);
  const [text, setText] = useState("10");
  const pace = Number(text);
  const wrong =
    pace > 0 && pace <= FASTEST
      ? undefined
      : `Must be greater than 0 and at most ${FASTEST} runs per second.`;
  const { phase, total } = redrive;
  const begun = redrive.sent + redrive.refused > 0;
  const nothing = total?.count === 0;
  return (
    <Modal
      visible
      header="Redrive dead runs"
      onDismiss={({ detail }) => detail.reason !== "overlay" && close()}
      footer={
        <Box float="right">
          <SpaceBetween direction="horizontal" size="xs">
            {phase === "running" ? (
              <Button onClick={redrive.stop}>Stop</Button>
            ) : (
              <Button variant={phase === "done" || nothing ? "primary" : "link"} onClick={close}>
                {phase === "done" || begun || nothing ? "Close" : "Cancel"}
              </Button>
            )}
            {phase === "ready" && !nothing && (
              <Button
                variant="primary"
                disabled={wrong !== undefined}
                disabledReason={wrong}
                onClick={() => redrive.begin(pace)}
              >
                {begun ? "Continue" : `Redrive ${amount(redrive)}`}
              </Button>
            )}
          </SpaceBetween>
        </Box>
      }
    >
      <SpaceBetween size="m">
        <div className="text">{plan.name}</div>
        {phase === "counting" && redrive.error === null && (
          <StatusIndicator type="loading">Counting the runs</StatusIndicator>
        )}
        {total !== null && !begun && phase === "ready" && (
          <Box>
            {nothing
              ? "There are no dead runs."
              : `${amount(redrive)} will be redriven, each with a new set of attempts.`}
          </Box>
        )}
        {phase === "ready" && !nothing && (
          <FormField label="Pace" constraintText="Maximum runs per second" errorText={wrong}>
            <Input
              type="number"
              inputMode="decimal"
              value={text}
              onChange={({ detail }) => setText(detail.value)}
            />
          </FormField>
        )}
        {(phase !== "counting" && begun) || phase === "running" ? <Course redrive={redrive} /> : null}
        {phase === "running" && (
          <Box color="text-body-secondary">
            If you close this dialog or leave the page, the redrive stops.
          </Box>
        )}
        <ProblemBox error={redrive.error} />
      </SpaceBetween>
    </Modal>
  );
}

function Course({ redrive }: { redrive: Redrive }) {
  const { phase, sent, refused, refusals, total } = redrive;
  const whole = Math.max(total?.count ?? 0, sent + refused, 1);
  const said = `${sent} redriven${refused > 0 ? `, ${refused} not redriven` : ""}`;
  return (
    <SpaceBetween size="xs">
      <ProgressBar
        label="Redriven"
        value={phase === "done" ? 100 : ((sent + refused) / whole) * 100}
        status={phase === "done" ? (refused > 0 ? "error" : "success") : "in-progress"}
        additionalInfo={phase === "done" ? undefined : `${said}, of ${amount(redrive)}`}
        resultText={said}
      />
      {refused > refusals.length && (
        <Box>
          Some runs could not be redriven: their jobs were deleted, or their queue did not accept them. The
          ids of these runs are not available.
        </Box>
      )}
      {refusals.length > 0 && (
        <ExpandableSection
          headerText="Runs that could not be redriven"
          defaultExpanded={refusals.length <= 5}
        >
          <ul>
            {refusals.map((each) => (
              <li key={each.what} className="text">
                <strong>{each.what}</strong> {each.why}
              </li>
            ))}
          </ul>
        </ExpandableSection>
      )}
    </SpaceBetween>
  );
}

function amount({ total }: Pick<Redrive, "total">): string {
  if (total === null) return "runs";
  return `${total.least ? "at least " : ""}${total.count} ${total.count === 1 ? "run" : "runs"}`;
}
