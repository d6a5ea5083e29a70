import Button from "@cloudscape-design/components/button";
import ButtonDropdown from "@cloudscape-design/components/button-dropdown";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { useNavigate } from "react-router";
import { fetcher, freshKey, type Schemas } from "../api/client";
import { ApiProblem } from "../api/problem";
import { useRefusal } from "../app/context";
import { useNotices } from "../app/notices";
import { to } from "../app/routes";
import { inexact, type Json, written } from "../edit/document";
import { useZone } from "../shared/clock";
import { inZone } from "../shared/time";
import { useConfirm } from "../shared/useConfirm";
import type { When } from "../shared/WhenInput";
import { BackfillDialog } from "./BackfillDialog";
import { CatchUp, pauseOf, StartQuestion, startOf, TextQuestion } from "./questions";

type Actable = Pick<
  Schemas["Job"],
  "id" | "state" | "schedule" | "timezone" | "next_occurrence" | "planned_pause" | "workflow" | "payload"
> &
  Partial<Pick<Schemas["Job"], "shadow_since">>;

/** The actions of a job or a workflow. */
export function JobActions({ job, isWorkflow = false }: { job: Actable; isWorkflow?: boolean }) {
  const refusal = useRefusal("jobs:write");
  const notices = useNotices();
  const navigate = useNavigate();
  const confirm = useConfirm();
  const [backfilling, setBackfilling] = useState(false);
  const zone = useZone(job.timezone);
  const path = { job_id: job.id };

  const pause = () => confirm.ask(pauseOf(job.id, zone));
  const resume = () => {
    let catchUp = false;
    confirm.ask({
      header: `Resume ${job.id}`,
      text: (
        <CatchUp
          onChange={(checked) => {
            catchUp = checked;
          }}
        />
      ),
      action: "Resume",
      async run() {
        await fetcher.POST("/v1/jobs/{job_id}/resume", { params: { path }, body: { catch_up: catchUp } });
      },
    });
  };
  const promote = () =>
    confirm.ask({
      header: `Promote ${job.id}`,
      text: "If the comparison agrees, the job runs from its next occurrence on. Switch off its entry in the other scheduler.",
      action: "Promote",
      async run() {
        await fetcher.POST("/v1/jobs/{job_id}/promote", { params: { path }, body: {} });
      },
    });
  const unplan = () =>
    confirm.ask({
      header: `Remove the planned pause of ${job.id}`,
      text: "Occurrences during the pause will run.",
      action: "Remove",
      async run() {
        await fetcher.POST("/v1/jobs/{job_id}/resume", { params: { path }, body: {} });
      },
    });
  const runNow = () => {
    const own = payloadText(job.payload as Json);
    let payload = own;
    let start: When | null = null;
    const key = freshKey();
    const waits = job.state === "PAUSED" && job.workflow !== null;
    confirm.ask({
      header: waits ? `Run ${job.id} after it is resumed` : `Run ${job.id}`,
      text: (
        <SpaceBetween size="m">
          <TextQuestion
            label="Payload"
            description="JSON for this run only. If it is empty or unchanged, the job's payload is used."
            rows={6}
            initial={own}
            onChange={(text) => {
              payload = text;
            }}
          />
          <StartQuestion
            zone={zone}
            onChange={(when) => {
              start = when;
            }}
          />
        </SpaceBetween>
      ),
      action: "Start the run",
      async run() {
        const at = startOf(start, zone);
        const unchanged = payload.trim() === "" || payload === own;
        const { data } = await fetcher.POST("/v1/jobs/{job_id}/run", {
          params: { path, header: { "Idempotency-Key": key } },
          body:
            unchanged && at === null
              ? undefined
              : {
                  payload: unchanged ? undefined : parsed(payload),
                  at,
                  delay_seconds: null,
                },
        });
        if (data === undefined) return;
        const address = isWorkflow
          ? to.workflowRun(job.id, data.id.slice(job.id.length + 1))
          : to.run(data.id);
        notices.done(
          <>
            {waits
              ? "The run will start after the job is resumed:"
              : at !== null
                ? `Run scheduled for ${inZone(at, zone)}:`
                : "Run requested:"}{" "}
            <Link href={address} color="inverted">
              {data.id}
            </Link>
          </>,
        );
      },
    });
  };
  const skipNext = () => {
    let count = "1";
    const key = freshKey();
    const next = job.next_occurrence === null ? "the next occurrence" : inZone(job.next_occurrence, zone);
    confirm.ask({
      header: `Skip the next occurrences of ${job.id}`,
      text: (
        <TextQuestion
          label="Number"
          description={`These occurrences will not run, starting with ${next}. This cannot be undone; you can start a run manually instead.`}
          type="number"
          initial="1"
          onChange={(text) => {
            count = text;
          }}
        />
      ),
      action: "Skip",
      grave: true,
      async run() {
        const { data } = await fetcher.POST("/v1/jobs/{job_id}/skip-next", {
          params: { path, header: { "Idempotency-Key": `${key} ${count}` } },
          body: { count: Number(count) },
        });
        const skipped = data?.items.map((each) => inZone(each.occurrence, zone)) ?? [];
        notices.done(
          skipped.length === 0
            ? "There was no occurrence to skip."
            : `These occurrences will not run: ${skipped.join(", ")}`,
        );
      },
    });
  };
  const testNotice = () =>
    confirm.ask({
      header: `Send a test notice for ${job.id}`,
      text: "Each job in the notify field delivers a notice that is marked as a test.",
      action: "Send",
      async run() {
        const { data } = await fetcher.POST("/v1/jobs/{job_id}/test-notice", { params: { path } });
        const missing = data?.missing ?? [];
        const runs = data?.runs ?? [];
        notices.done(
          missing.length > 0
            ? `These jobs in the notify field do not exist: ${missing.join(", ")}`
            : runs.length > 0
              ? `Delivered by: ${runs.map((each) => each.id).join(", ")}`
              : "No notice was sent: the job's notify field is empty.",
        );
      },
    });
  const remove = () =>
    confirm.ask({
      header: `Delete ${job.id}`,
      text: isWorkflow
        ? "No new runs start, and active runs are cancelled. Its steps are kept as jobs without a schedule."
        : "No new runs start; running attempts continue to their end. The records of its runs remain readable until they expire.",
      action: "Delete",
      grave: true,
      async run() {
        await fetcher.DELETE("/v1/jobs/{job_id}", { params: { path } });
        notices.done(`${job.id} is deleted.`, { next: true });
        navigate(isWorkflow ? "/workflows" : "/jobs");
      },
    });

  const disabled = refusal !== undefined;
  const planned = Date.parse(job.planned_pause?.split("/")[1] ?? "") > Date.now();
  const unscheduled = job.schedule === null ? "The job has no schedule." : undefined;
  const items = [
    ...(planned && job.state === "ACTIVE"
      ? [{ id: "unplan", text: "Remove the planned pause", disabledReason: refusal }]
      : []),
    { id: "skip", text: "Skip next occurrences", disabledReason: refusal ?? unscheduled },
    { id: "test-notice", text: "Send a test notice", disabledReason: refusal },
    { id: "backfill", text: "Backfill", disabledReason: refusal ?? unscheduled },
    {
      id: "edit",
      text: "Edit",
      href: isWorkflow ? to.editWorkflow(job.id) : to.editJob(job.id),
      disabledReason: refusal,
    },
    { id: "copy", text: "Create a copy", href: to.copyJob(job.id), disabledReason: refusal },
    {
      id: "delete",
      text: "Delete",
      disabledReason:
        refusal ?? (job.workflow && !isWorkflow ? `The job is a step of ${job.workflow}.` : undefined),
    },
  ].filter((each) => !(isWorkflow && each.id === "copy"));
  const chosen: Record<string, () => void> = {
    skip: skipNext,
    unplan,
    "test-notice": testNotice,
    backfill: () => setBackfilling(true),
    delete: remove,
  };
  return (
    <>
      <SpaceBetween direction="horizontal" size="xs">
        {job.state === "PAUSED" ? (
          <Button disabled={disabled} disabledReason={refusal} onClick={job.shadow_since ? promote : resume}>
            {job.shadow_since ? "Promote" : "Resume"}
          </Button>
        ) : (
          <Button disabled={disabled} disabledReason={refusal} onClick={pause}>
            Pause
          </Button>
        )}
        <ButtonDropdown
          items={items.map((each) => ({ ...each, disabled: each.disabledReason !== undefined }))}
          onItemClick={({ detail }) => chosen[detail.id]?.()}
        >
          More
        </ButtonDropdown>
        <Button variant="primary" disabled={disabled} disabledReason={refusal} onClick={runNow}>
          Run now
        </Button>
      </SpaceBetween>
      {confirm.modal}
      {backfilling && <BackfillDialog job={job} onClose={() => setBackfilling(false)} />}
    </>
  );
}

/** The initial text for a changed payload; empty if the job has none, or if the browser has rounded its numbers. */
function payloadText(payload: Json): string {
  return payload === null || inexact(payload).length > 0 ? "" : written(payload);
}

function parsed(text: string): Json {
  let payload: Json;
  try {
    payload = JSON.parse(text) as Json;
  } catch (error) {
    throw new ApiProblem(0, "The payload is not JSON", error instanceof Error ? error.message : "");
  }
  const rounded = inexact(payload).map((place) => place || "the payload itself");
  if (rounded.length > 0) {
    throw new ApiProblem(
      0,
      "These numbers would be rounded",
      `Affected values: ${rounded.join(", ")}. Write them as strings in quotes, or use the command duecourse jobs.`,
    );
  }
  return payload;
}
