import Button from "@cloudscape-design/components/button";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { fetcher, freshKey, type Schemas } from "../api/client";
import { asProblem } from "../api/problem";
import { useStage } from "../app/context";
import { useNotices } from "../app/notices";
import { NO_PLANNED_PAUSE, PauseQuestion, pauseBody } from "../job/questions";
import { useClock, zoneOf } from "../shared/clock";
import { useConfirm } from "../shared/useConfirm";
import type { Job } from "./columns";
import { type Failure, forEach, resumable } from "./many";
import { keyOf, PauseChoice, pausesOf } from "./pauses";
import { jobsText } from "./texts";

interface Action {
  verb: string;
  doing: string;
  did: string;
  /** The consequences of the action. */
  effect: string;
  /** Why a job was skipped: `already paused`. */
  skips?: string;
  /** The action on one job, which returns false if it skipped the job. Raises an error if the input is invalid. */
  begin(): (id: string) => Promise<unknown>;
  /** The same for up to a hundred jobs with one request, which leaves out those that need no change. */
  together?(ids: string[], cursor?: string): Promise<{ data?: Schemas["ChangedJobs"] }>;
}

const TOGETHER = 100;

const NAMES_SHOWN = 10;

/** A request for several jobs does not return why one of them could not be changed. */
const UNCHANGED =
  "The job could not be changed for one of these reasons: it changed at the same time; its schedule or a later planned pause does not allow it (a planned pause requires a schedule); it is a shadow of another scheduler; it cannot be read at the moment; or it was deleted. Try it on the page of the job to get the reason.";

/** Pause, resume, run or delete the jobs that were chosen, once the number was confirmed. `done` is called with those
 * for which it failed.
 */
export function useManyJobs(done: (failed: readonly string[]) => void) {
  const { ask, modal } = useConfirm();
  const notices = useNotices();
  const client = useQueryClient();
  const clock = useClock();
  // A request for several jobs is not limited to jobs with a tag.
  const untagged = useStage().session.scopes.some((scope) => scope === "jobs:write" || scope === "ops");

  const perform = async (
    ids: readonly string[],
    { verb, doing, did, skips, together }: Action,
    work: (id: string) => Promise<unknown>,
  ) => {
    const id = freshKey();
    let stop = false;
    let skipped = 0;
    const show = (count: number) =>
      notices.show({
        id,
        type: "info",
        loading: true,
        dismissible: false,
        content: `${doing} ${jobsText(ids.length)}: ${count.toLocaleString("en-GB")} done`,
        action: <Button onClick={() => (stop = true)}>Stop</Button>,
      });
    show(0);
    let finished = 0;
    const failures: Failure[] = [];
    const size = together === undefined || !untagged ? 1 : TOGETHER;
    const parts = partsOf(ids, size);
    const walks = new Map<string, ReturnType<typeof resumable>>();
    /** The number of changed jobs of the parts so far. */
    const confirmed = new Map<string, number>();
    if (together !== undefined && size > 1)
      for (const [first, part] of parts) {
        const page = async (cursor?: string) => {
          const { data } = await together(part, cursor);
          if (data === undefined) throw new SyntaxError("an empty response");
          confirmed.set(first, (confirmed.get(first) ?? 0) + data.changed);
          return data;
        };
        walks.set(first, resumable(page));
      }
    const refused = await forEach(
      [...parts.keys()],
      async (first) => {
        const walk = walks.get(first);
        if (walk === undefined) {
          if ((await work(first)) === false) skipped += 1;
          return;
        }
        const { changed, failed } = await walk();
        failures.push(...failed.map((each) => ({ id: each, why: UNCHANGED })));
        skipped += (parts.get(first)?.length ?? 0) - changed - failed.length;
      },
      {
        width: size === 1 ? undefined : 1,
        wait: (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1_000)),
        stopped: () => stop,
        progress: (count) => {
          finished = Math.min(count * size, ids.length);
          show(finished);
        },
      },
    );
    failures.push(
      ...refused.flatMap(({ id: first, why }) => {
        const before = confirmed.get(first) ?? 0;
        const rest = before > 0 ? `${why} Before that, ${before} of these jobs were changed.` : why;
        return (parts.get(first) ?? []).map((each) => ({ id: each, why: rest }));
      }),
    );
    const left = ids.length - finished;
    const header = [
      `${did} ${jobsText(finished - failures.length - skipped)}`,
      ...(skipped > 0 ? [`skipped ${jobsText(skipped)} (${skips})`] : []),
      ...(left > 0 ? [`${jobsText(left)} not processed`] : []),
    ].join("; ");
    const { dismiss, show: tell } = notices;
    tell({
      id,
      type: failures.length > 0 ? "error" : "success",
      dismissible: true,
      dismissLabel: "Dismiss",
      onDismiss: () => dismiss(id),
      header: failures.length > 0 ? `${header}; could not ${verb} ${jobsText(failures.length)}` : undefined,
      content: failures.length > 0 ? <Failures failures={failures} /> : header,
    });
    done(failures.map((each) => each.id));
    void client.invalidateQueries();
  };

  /** `affected`: those of `ids` that are changed, as far as the list shows. */
  const confirm = (ids: readonly string[], action: Action, more?: ReactNode, affected = ids) =>
    ask({
      header: `${capital(action.verb)} ${affected.length < ids.length ? `${affected.length.toLocaleString("en-GB")} of ` : ""}${jobsText(ids.length)}?`,
      text: (
        <SpaceBetween size="s">
          <div>{action.effect}</div>
          <div className="text">
            {affected.slice(0, NAMES_SHOWN).join(", ")}
            {affected.length > NAMES_SHOWN && ` and ${affected.length - NAMES_SHOWN} more`}
          </div>
          {more}
        </SpaceBetween>
      ),
      action: `${capital(action.verb)} ${jobsText(affected.length)}`,
      grave: action.verb === "delete",
      run: async () => {
        void perform(ids, action, action.begin());
      },
    });

  return {
    modal,
    pause(jobs: readonly Job[]) {
      let form = NO_PLANNED_PAUSE;
      let body: Partial<ReturnType<typeof pauseBody>> = {};
      const [zone, ...others] = new Set(jobs.map((job) => job.timezone));
      const shown = zoneOf(clock, others.length > 0 ? undefined : zone);
      confirm(
        idsOf(jobs),
        {
          verb: "pause",
          get doing() {
            return body.from ? "Planning the pause of" : "Pausing";
          },
          get did() {
            return body.from ? "Planned the pause of" : "Paused";
          },
          effect:
            "Occurrences during the pause are skipped, unless you select a catch-up. Started runs continue. Jobs that are already paused do not change, unless the pause starts later.",
          get skips() {
            return body.from
              ? "completed, without further occurrences, or with this planned pause"
              : "not active";
          },
          together: (ids, cursor) => fetcher.POST("/v1/jobs/pause", { body: { ids, cursor, ...body } }),
          begin() {
            body = pauseBody(form, shown);
            return (id) =>
              onlyIf(
                id,
                ({ state }) => state === "ACTIVE" || (body.from != null && state === "PAUSED"),
                (params) => fetcher.POST("/v1/jobs/{job_id}/pause", { params, body }),
              );
          },
        },
        <PauseQuestion
          zone={shown}
          onChange={(changed) => {
            form = changed;
          }}
        />,
        idsOf(jobs.filter(({ state }) => state === "ACTIVE")),
      );
    },
    resume(jobs: readonly Job[]) {
      const pauses = pausesOf(jobs);
      const question = (keys: ReadonlySet<string>) =>
        confirm(
          idsOf(jobs),
          {
            verb: "resume",
            doing: "Resuming",
            did: "Resumed",
            effect: "The jobs run again from their next occurrence.",
            skips: pauses.length > 1 ? "not paused, or in a pause that was not selected" : "not paused",
            together:
              pauses.length > 1
                ? undefined // some stay paused, also if that has changed since the list was read
                : (ids, cursor) => fetcher.POST("/v1/jobs/resume", { body: { ids, cursor } }),
            begin: () => (id) =>
              onlyIf(
                id,
                (job) => job.state === "PAUSED" && (pauses.length < 2 || keys.has(keyOf(job))),
                (params) => fetcher.POST("/v1/jobs/{job_id}/resume", { params }),
              ),
          },
          pauses.length > 1 && <PauseChoice pauses={pauses} onChange={question} />,
          idsOf(jobs.filter((job) => job.state === "PAUSED" && keys.has(keyOf(job)))),
        );
      question(new Set(pauses.filter((each) => each.chosen).map(({ key }) => key)));
    },
    run(jobs: readonly Job[]) {
      const key = freshKey();
      confirm(idsOf(jobs), {
        verb: "run",
        doing: "Starting",
        did: "Started",
        effect:
          "Each job runs once now, independently of its schedule and even if it is paused. The run of a paused workflow step starts after the step is resumed.",
        begin: () => (id) =>
          fetcher.POST("/v1/jobs/{job_id}/run", {
            params: { path: { job_id: id }, header: { "Idempotency-Key": `${key} ${id}` } },
          }),
      });
    },
    delete: (jobs: readonly Job[]) =>
      confirm(idsOf(jobs), {
        verb: "delete",
        doing: "Deleting",
        did: "Deleted",
        effect:
          "The jobs do not run again and cannot be restored. The records of their runs remain readable until they expire.",
        begin: () => (id) =>
          fetcher.DELETE("/v1/jobs/{job_id}", { params: { path: { job_id: id } } }).catch(gone),
      }),
  };
}

/** The ids in parts, by the first of each. */
function partsOf(ids: readonly string[], size: number): Map<string, string[]> {
  const parts = new Map<string, string[]>();
  for (let begin = 0; begin < ids.length; begin += size) {
    const part = ids.slice(begin, begin + size);
    parts.set(part[0] ?? "", part);
  }
  return parts;
}

const idsOf = (jobs: readonly Job[]) => jobs.map((job) => job.id);

/** Changes a job if it is as `wanted` says, and returns false if it is not. Another change in between is a failure: the
 * list may be some seconds old, so the job is read again.
 */
async function onlyIf(
  id: string,
  wanted: (job: Schemas["Job"]) => boolean,
  change: (params: { path: { job_id: string }; header: { "If-Match": string } }) => Promise<unknown>,
): Promise<boolean> {
  const path = { job_id: id };
  const { data, response } = await fetcher.GET("/v1/jobs/{job_id}", { params: { path } });
  if (data === undefined || !wanted(data)) return false;
  await change({ path, header: { "If-Match": response.headers.get("etag") ?? "*" } });
  return true;
}

/** A repeated DELETE returns 404 if the first response was lost. */
function gone(error: unknown): void {
  if (asProblem(error).status !== 404) throw error;
}

/** The jobs with the same reason are named together. */
function Failures({ failures }: { failures: readonly Failure[] }) {
  const reasons = new Map<string, string[]>();
  for (const { id, why } of failures) reasons.set(why, [...(reasons.get(why) ?? []), id]);
  return (
    <ul style={{ maxBlockSize: "12em", overflow: "auto" }}>
      {[...reasons].map(([why, ids]) => (
        <li key={why} className="text">
          <strong>{ids.join(", ")}</strong>: {why}
        </li>
      ))}
    </ul>
  );
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
