import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import ExpandableSection from "@cloudscape-design/components/expandable-section";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import Modal from "@cloudscape-design/components/modal";
import ProgressBar from "@cloudscape-design/components/progress-bar";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { freshKey } from "../api/client";
import { useNotices } from "../app/notices";
import { amountOf, type Choice, perMinute } from "../operations/texts";
import { create, estimate } from "../operations/useOperations";
import { ProblemBox } from "../shared/ProblemBox";
import { useAction } from "../shared/useAction";
import { type Plan, type Redrive, useRedrive } from "./useRedrive";

const FASTEST = 1_000;

/** Shows the number of runs, and prompts for the pace. */
export default function RedriveDialog({ plan, close }: { plan: Plan; close(): void }) {
  if ("choice" in plan) return <Filtered name={plan.name} choice={plan.choice} close={close} />;
  return <Selected name={plan.name} runs={plan.runs} close={close} />;
}

/** All runs of a filter, in an operation. */
function Filtered({ name, choice, close }: { name: string; choice: Choice; close(): void }) {
  const pace = usePace();
  const notices = useNotices();
  const [key] = useState(freshKey);
  const found = useQuery({
    queryKey: ["redrive", choice],
    queryFn: ({ signal }) => estimate(choice, signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const total = found.data === undefined ? null : amountOf(found.data);
  const nothing = found.data?.runs === 0;
  const body = {
    ...choice,
    per_minute: perMinute(pace.value),
    expected: found.data?.more === false ? found.data.runs : null,
  };
  const action = useAction("Redrive", () => create(body, key), {
    done() {
      notices.done(
        `The redrive of ${total} has started. It continues if you leave this page; its progress is on the page Dead letters.`,
      );
      close();
    },
  });
  return (
    <Frame
      name={name}
      close={close}
      error={action.error ?? found.error}
      buttons={
        <>
          <Button variant={nothing ? "primary" : "link"} onClick={close}>
            {nothing ? "Close" : "Cancel"}
          </Button>
          {total !== null && !nothing && (
            <Button
              variant="primary"
              loading={action.busy}
              disabled={pace.wrong !== undefined}
              disabledReason={pace.wrong}
              onClick={() => action.run()}
            >
              {`Redrive ${total}`}
            </Button>
          )}
        </>
      }
    >
      {found.isPending && <StatusIndicator type="loading">Counting the runs</StatusIndicator>}
      {total !== null && (
        <Box>
          {nothing
            ? "There are no dead runs."
            : `${total} will be redriven, each with a new set of attempts. Runs that die again are not redriven again.`}
        </Box>
      )}
      {total !== null && !nothing && pace.field}
    </Frame>
  );
}

/** These runs, one request each. */
function Selected({ name, runs, close }: { name: string; runs: readonly string[]; close(): void }) {
  const redrive = useRedrive(runs);
  const pace = usePace();
  const { phase } = redrive;
  const begun = redrive.sent + redrive.refusals.length > 0;
  const total = amountOf({ runs: runs.length, more: false });
  return (
    <Frame
      name={name}
      close={close}
      error={redrive.error}
      buttons={
        <>
          {phase === "running" ? (
            <Button onClick={redrive.stop}>Stop</Button>
          ) : (
            <Button variant={phase === "done" ? "primary" : "link"} onClick={close}>
              {phase === "done" || begun ? "Close" : "Cancel"}
            </Button>
          )}
          {phase === "ready" && (
            <Button
              variant="primary"
              disabled={pace.wrong !== undefined}
              disabledReason={pace.wrong}
              onClick={() => redrive.begin(pace.value)}
            >
              {begun ? "Continue" : `Redrive ${total}`}
            </Button>
          )}
        </>
      }
    >
      {!begun && phase === "ready" && <Box>{total} will be redriven, each with a new set of attempts.</Box>}
      {phase === "ready" && pace.field}
      {(begun || phase === "running") && <Course redrive={redrive} total={runs.length} />}
      {phase === "running" && (
        <Box color="text-body-secondary">If you close this dialog or leave the page, the redrive stops.</Box>
      )}
    </Frame>
  );
}

function Frame({
  name,
  close,
  error,
  buttons,
  children,
}: {
  name: string;
  close(): void;
  error: unknown;
  buttons: ReactNode;
  children: ReactNode;
}) {
  return (
    <Modal
      visible
      header="Redrive dead runs"
      onDismiss={({ detail }) => detail.reason !== "overlay" && close()}
      footer={
        <Box float="right">
          <SpaceBetween direction="horizontal" size="xs">
            {buttons}
          </SpaceBetween>
        </Box>
      }
    >
      <SpaceBetween size="m">
        <div className="text">{name}</div>
        {children}
        <ProblemBox error={error} />
      </SpaceBetween>
    </Modal>
  );
}

function usePace() {
  const [text, setText] = useState("10");
  const value = Number(text);
  const wrong =
    value > 0 && value <= FASTEST
      ? undefined
      : `Must be greater than 0 and at most ${FASTEST} runs per second.`;
  const field = (
    <FormField label="Pace" constraintText="Maximum runs per second" errorText={wrong}>
      <Input
        type="number"
        inputMode="decimal"
        value={text}
        onChange={({ detail }) => setText(detail.value)}
      />
    </FormField>
  );
  return { value, wrong, field };
}

function Course({ redrive, total }: { redrive: Redrive; total: number }) {
  const { phase, sent, refusals } = redrive;
  const refused = refusals.length;
  const said = `${sent} redriven${refused > 0 ? `, ${refused} not redriven` : ""}`;
  return (
    <SpaceBetween size="xs">
      <ProgressBar
        label="Redriven"
        value={phase === "done" ? 100 : ((sent + refused) / Math.max(total, sent + refused, 1)) * 100}
        status={phase === "done" ? (refused > 0 ? "error" : "success") : "in-progress"}
        additionalInfo={
          phase === "done" ? undefined : `${said}, of ${amountOf({ runs: total, more: false })}`
        }
        resultText={said}
      />
      {refused > 0 && (
        <ExpandableSection headerText="Runs that could not be redriven" defaultExpanded={refused <= 5}>
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
