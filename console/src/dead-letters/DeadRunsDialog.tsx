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
import { amountOf, type Choice, isNothing, perMinute, restOf } from "../operations/texts";
import { create, estimate } from "../operations/useOperations";
import { ProblemBox } from "../shared/ProblemBox";
import { useAction } from "../shared/useAction";
import { NoteField } from "./NoteField";
import { type Course, type Kind, type Plan, useDeadRuns } from "./useDeadRuns";

const FASTEST = 1_000;

const TEXTS: Record<Kind, { verb: string; noun: string; done: string; Done: string; effect: string }> = {
  redrive: {
    verb: "Redrive",
    noun: "redrive",
    done: "redriven",
    Done: "Redriven",
    effect: ", each with a new set of attempts",
  },
  discard: {
    verb: "Discard",
    noun: "discard",
    done: "discarded",
    Done: "Discarded",
    effect: ": they stay dead, and are no longer listed here",
  },
};

/** Shows the number of runs, and prompts for the pace, and for the note of a discard. */
export default function DeadRunsDialog({ plan, close }: { plan: Plan; close(): void }) {
  if ("choice" in plan)
    return <Filtered kind={plan.kind} name={plan.name} choice={plan.choice} close={close} />;
  return <Selected kind={plan.kind} name={plan.name} runs={plan.runs} close={close} />;
}

/** All runs of a filter, in an operation. */
function Filtered({
  kind,
  name,
  choice,
  close,
}: {
  kind: Kind;
  name: string;
  choice: Choice;
  close(): void;
}) {
  const pace = usePace();
  const note = useNote(kind);
  const texts = TEXTS[kind];
  const notices = useNotices();
  const [key] = useState(freshKey);
  const found = useQuery({
    queryKey: [kind, choice],
    queryFn: ({ signal }) => estimate(choice, signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const total = found.data === undefined ? null : amountOf(found.data);
  const nothing = found.data !== undefined && isNothing(found.data);
  const body = {
    ...choice,
    note: note.value,
    per_minute: perMinute(pace.value),
    expected: found.data?.more === false ? found.data.runs : null,
  };
  const action = useAction(texts.verb, () => create(body, key), {
    done() {
      notices.done(
        `The ${texts.noun} of ${total} has started. It continues if you leave this page; its progress is on the page Dead letters.`,
      );
      close();
    },
  });
  return (
    <Frame
      kind={kind}
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
              {`${texts.verb} ${total}`}
            </Button>
          )}
        </>
      }
    >
      {found.isPending && <StatusIndicator type="loading">Counting the runs</StatusIndicator>}
      {found.data !== undefined && (
        <Box>
          {nothing
            ? `There are no dead runs to ${kind}.`
            : `${total} will be ${texts.done}${texts.effect}. Runs that die later are not ${texts.done}.`}
          {restOf(found.data)}
        </Box>
      )}
      {total !== null && !nothing && note.field}
      {total !== null && !nothing && pace.field}
    </Frame>
  );
}

/** These runs, one request each. */
function Selected({
  kind,
  name,
  runs,
  close,
}: {
  kind: Kind;
  name: string;
  runs: readonly string[];
  close(): void;
}) {
  const note = useNote(kind);
  const course = useDeadRuns(kind, runs, note.value);
  const texts = TEXTS[kind];
  const pace = usePace();
  const { phase } = course;
  const begun = course.sent + course.refusals.length > 0;
  const total = amountOf({ runs: runs.length, more: false });
  return (
    <Frame
      kind={kind}
      name={name}
      close={close}
      error={course.error}
      buttons={
        <>
          {phase === "running" ? (
            <Button onClick={course.stop}>Stop</Button>
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
              onClick={() => course.begin(pace.value)}
            >
              {begun ? "Continue" : `${texts.verb} ${total}`}
            </Button>
          )}
        </>
      }
    >
      {!begun && phase === "ready" && <Box>{`${total} will be ${texts.done}${texts.effect}.`}</Box>}
      {!begun && phase === "ready" && note.field}
      {phase === "ready" && pace.field}
      {(begun || phase === "running") && <Shown kind={kind} course={course} total={runs.length} />}
      {phase === "running" && (
        <Box color="text-body-secondary">
          If you close this dialog or leave the page, the {texts.noun} stops.
        </Box>
      )}
    </Frame>
  );
}

function Frame({
  kind,
  name,
  close,
  error,
  buttons,
  children,
}: {
  kind: Kind;
  name: string;
  close(): void;
  error: unknown;
  buttons: ReactNode;
  children: ReactNode;
}) {
  return (
    <Modal
      visible
      header={`${TEXTS[kind].verb} dead runs`}
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

/** The note of a discard; a redrive has none. */
function useNote(kind: Kind) {
  const [text, setText] = useState("");
  const field = kind === "discard" && <NoteField value={text} change={setText} />;
  return { value: text === "" ? null : text, field };
}

function Shown({ kind, course, total }: { kind: Kind; course: Course; total: number }) {
  const { phase, sent, refusals } = course;
  const { done, Done } = TEXTS[kind];
  const refused = refusals.length;
  const said = `${sent} ${done}${refused > 0 ? `, ${refused} not ${done}` : ""}`;
  return (
    <SpaceBetween size="xs">
      <ProgressBar
        label={Done}
        value={phase === "done" ? 100 : ((sent + refused) / Math.max(total, sent + refused, 1)) * 100}
        status={phase === "done" ? (refused > 0 ? "error" : "success") : "in-progress"}
        additionalInfo={
          phase === "done" ? undefined : `${said}, of ${amountOf({ runs: total, more: false })}`
        }
        resultText={said}
      />
      {refused > 0 && (
        <ExpandableSection headerText={`Runs that could not be ${done}`} defaultExpanded={refused <= 5}>
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
