import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import Link from "@cloudscape-design/components/link";
import Modal from "@cloudscape-design/components/modal";
import Pagination from "@cloudscape-design/components/pagination";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import Table from "@cloudscape-design/components/table";
import { useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { fetcher } from "../api/client";
import { useNotices } from "../app/notices";
import { to } from "../app/routes";
import { type Failure, forEach } from "../jobs/many";
import { jobsText } from "../jobs/texts";
import { Time } from "../shared/Instant";
import { requests } from "../shared/kinds.json";
import { ProblemBox } from "../shared/ProblemBox";
import { useAction } from "../shared/useAction";
import { useSettled } from "../shared/useSettled";
import { jobsAt, planFor } from "./planning";
import { busiest, type Planned } from "./spread";

const ROWS = 10;
const { low, high } = requests.SpreadPlanRequest.within_minutes;

/** Shows a quiet minute for each job of a busy minute, and applies them. */
export default function SpreadDialog({ minute, close }: { minute: Date; close(): void }) {
  const [text, setText] = useState("30");
  const within = Number(useSettled(text));
  const wrong = valid(Number(text)) ? undefined : `Must be a whole number from ${low} to ${high}.`;
  const notices = useNotices();
  const [done, setDone] = useState(0);
  const [failures, setFailures] = useState<readonly Failure[]>([]);
  const stop = useRef(false);

  const jobs = useQuery({
    queryKey: ["jobs of a minute", minute.getTime()],
    queryFn: ({ signal }) => jobsAt(minute, signal),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const plan = useQuery({
    queryKey: ["spread", minute.getTime(), within],
    enabled: jobs.data !== undefined && valid(within),
    queryFn: ({ signal }) => planFor(jobs.data?.ids ?? [], within, signal),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const planned = plan.data ?? [];
  const movable = planned.filter((job) => job.offset_minutes !== null);
  const load = busiest(movable);

  const applying = useAction(
    "Spread",
    async () => {
      const offsets = new Map(movable.map((job) => [job.id, job.offset_minutes]));
      return forEach(
        [...offsets.keys()],
        (id) =>
          fetcher.PATCH("/v1/jobs/{job_id}", {
            params: { path: { job_id: id } },
            body: { spread: { within_minutes: within, offset_minutes: offsets.get(id) ?? null } },
          }),
        {
          wait: (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1_000)),
          stopped: () => stop.current,
          progress: setDone,
        },
      );
    },
    {
      done(failed) {
        if (failed.length > 0 || stop.current) {
          stop.current = false;
          setFailures(failed);
          return;
        }
        notices.done(`${jobsText(movable.length)} spread within ${within} minutes.`);
        close();
      },
    },
  );
  const leave = () => {
    stop.current = true;
    close();
  };

  return (
    <Modal
      visible
      size="large"
      header="Spread these jobs"
      onDismiss={({ detail }) => detail.reason !== "overlay" && leave()}
      footer={
        <Box float="right">
          <SpaceBetween direction="horizontal" size="xs">
            <Button variant="link" onClick={leave}>
              {applying.busy ? "Stop" : "Cancel"}
            </Button>
            <Button
              variant="primary"
              loading={applying.busy}
              disabled={
                wrong !== undefined || movable.length === 0 || plan.isPending || String(within) !== text
              }
              onClick={() => applying.run()}
            >
              Spread {jobsText(movable.length)}
            </Button>
          </SpaceBetween>
        </Box>
      }
    >
      <SpaceBetween size="m">
        <div>
          Each job with a run at <Time at={minute.toISOString()} /> gets a quiet minute. All its runs are then
          delayed by the same number of minutes.
        </div>
        <FormField label="Spread within (minutes)" errorText={wrong}>
          <Input
            value={text}
            inputMode="numeric"
            disabled={applying.busy}
            onChange={({ detail }) => setText(detail.value)}
          />
        </FormField>
        <ProblemBox
          error={jobs.error ?? plan.error}
          retry={() => void (jobs.error ? jobs : plan).refetch()}
        />
        {jobs.error === null && plan.error === null && plan.isPending && wrong === undefined && (
          <StatusIndicator type="loading">Looking for quiet minutes</StatusIndicator>
        )}
        {applying.busy && (
          <StatusIndicator type="loading">
            {done.toLocaleString("en-GB")} of {jobsText(movable.length)} done
          </StatusIndicator>
        )}
        {failures.length > 0 && (
          <Alert type="error" header={`Could not spread ${jobsText(failures.length)}`}>
            {failures.slice(0, ROWS).map(({ id, why }) => (
              <div key={id} className="text">
                {id}: {why}
              </div>
            ))}
          </Alert>
        )}
        {jobs.data !== undefined && jobs.data.unnamed > 0 && (
          <Alert type="warning">
            The plan does not include all jobs of this minute: {runs(jobs.data.unnamed)} of other jobs{" "}
            {jobs.data.unnamed === 1 ? "remains" : "remain"}. Spread these jobs first, and then the others.
          </Alert>
        )}
        {plan.data !== undefined && (
          <>
            {load !== null && (
              <div>
                The busiest minute of these jobs: <strong>{runs(load.before)}</strong> now,{" "}
                <strong>{runs(load.after)}</strong> afterwards.
              </div>
            )}
            <Plan jobs={planned} />
          </>
        )}
      </SpaceBetween>
    </Modal>
  );
}

const valid = (minutes: number) => Number.isInteger(minutes) && minutes >= low && minutes <= high;

const runs = (count: number) => `${count.toLocaleString("en-GB")} run${count === 1 ? "" : "s"}`;

function Plan({ jobs }: { jobs: readonly Planned[] }) {
  const [page, setPage] = useState(1);
  const pages = Math.ceil(jobs.length / ROWS);
  return (
    <Table
      variant="embedded"
      wrapLines
      trackBy="id"
      items={jobs.slice((page - 1) * ROWS, page * ROWS)}
      ariaLabels={{ tableLabel: "New minutes" }}
      columnDefinitions={[
        {
          id: "job",
          header: "Job",
          isRowHeader: true,
          cell: (job) => (
            <>
              <Link href={to.job(job.id)}>{job.id}</Link>
              {job.problem !== null && <Box variant="small">Not spread: {job.problem}</Box>}
            </>
          ),
        },
        {
          id: "delay",
          header: "Delay",
          cell: (job) => (job.offset_minutes === null ? "-" : `${job.offset_minutes}\u00a0min`),
        },
        {
          id: "runs",
          header: "Runs in the same minute",
          cell: ({ before, after }) => (before && after ? `${before.runs} → ${after.runs}` : "-"),
        },
      ]}
      pagination={
        pages > 1 && (
          <Pagination
            currentPageIndex={page}
            pagesCount={pages}
            onChange={({ detail }) => setPage(detail.currentPageIndex)}
          />
        )
      }
    />
  );
}
