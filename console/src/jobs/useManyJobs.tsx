import Button from "@cloudscape-design/components/button";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { fetcher, freshKey } from "../api/client";
import { asProblem } from "../api/problem";
import { useNotices } from "../app/notices";
import { NO_PAUSE, PauseQuestion, pauseBody } from "../job/questions";
import { useZone } from "../shared/clock";
import { useConfirm } from "../shared/useConfirm";
import { type Failure, forEach } from "./many";
import { jobsText } from "./texts";

interface Action {
  verb: string;
  doing: string;
  did: string;
  /** What comes of it. */
  effect: string;
  /** Raises what is wrong with the input. */
  check?(): void;
  work(id: string): Promise<unknown>;
}

const NAMES_SHOWN = 10;

/** Pause, resume, run or delete the jobs that were chosen, once the number was confirmed. `done` is called with those
 * for which it failed.
 */
export function useManyJobs(done: (failed: readonly string[]) => void) {
  const { ask, modal } = useConfirm();
  const notices = useNotices();
  const client = useQueryClient();
  const zone = useZone();

  const perform = async (ids: readonly string[], { verb, doing, did, work }: Action) => {
    const id = freshKey();
    let stop = false;
    const show = (count: number) =>
      notices.show({
        id,
        type: "info",
        loading: true,
        dismissible: false,
        content: `${doing} ${jobsText(ids.length)}: ${count} of ${ids.length} done`,
        action: <Button onClick={() => (stop = true)}>Stop</Button>,
      });
    show(0);
    let finished = 0;
    const failures = await forEach(ids, work, {
      wait: (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1_000)),
      stopped: () => stop,
      progress: (count) => {
        finished = count;
        show(count);
      },
    });
    const left = ids.length - finished;
    const header = `${did} ${jobsText(finished - failures.length)}${left > 0 ? `; ${jobsText(left)} not processed` : ""}`;
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

  const confirm = (ids: readonly string[], action: Action, more?: ReactNode) =>
    ask({
      header: `${capital(action.verb)} ${jobsText(ids.length)}?`,
      text: (
        <SpaceBetween size="s">
          <div>{action.effect}</div>
          <div className="text">
            {ids.slice(0, NAMES_SHOWN).join(", ")}
            {ids.length > NAMES_SHOWN && ` and ${ids.length - NAMES_SHOWN} more`}
          </div>
          {more}
        </SpaceBetween>
      ),
      action: `${capital(action.verb)} ${jobsText(ids.length)}`,
      run: async () => {
        action.check?.();
        void perform(ids, action);
      },
    });

  return {
    modal,
    pause(ids: readonly string[]) {
      let form = NO_PAUSE;
      confirm(
        ids,
        {
          verb: "pause",
          doing: "Pausing",
          did: "Paused",
          effect: "Occurrences that are due during the pause are skipped. Started runs continue.",
          check: () => pauseBody(form, zone),
          work: (id) =>
            fetcher.POST("/v1/jobs/{job_id}/pause", {
              params: { path: { job_id: id } },
              body: pauseBody(form, zone),
            }),
        },
        <PauseQuestion
          zone={zone}
          onChange={(changed) => {
            form = changed;
          }}
        />,
      );
    },
    resume: (ids: readonly string[]) =>
      confirm(ids, {
        verb: "resume",
        doing: "Resuming",
        did: "Resumed",
        effect: "The jobs run again from their next occurrence.",
        work: (id) => fetcher.POST("/v1/jobs/{job_id}/resume", { params: { path: { job_id: id } } }),
      }),
    run(ids: readonly string[]) {
      const key = freshKey();
      confirm(ids, {
        verb: "run",
        doing: "Starting",
        did: "Started",
        effect: "Each job runs once now, independently of its schedule and even if it is paused.",
        work: (id) =>
          fetcher.POST("/v1/jobs/{job_id}/run", {
            params: { path: { job_id: id }, header: { "Idempotency-Key": `${key} ${id}` } },
          }),
      });
    },
    delete: (ids: readonly string[]) =>
      confirm(ids, {
        verb: "delete",
        doing: "Deleting",
        did: "Deleted",
        effect: "The jobs do not run again and cannot be restored. The records of their runs are kept.",
        work: (id) => fetcher.DELETE("/v1/jobs/{job_id}", { params: { path: { job_id: id } } }).catch(gone),
      }),
  };
}

/** Who deletes again after a lost answer finds nothing. */
function gone(error: unknown): void {
  if (asProblem(error).status !== 404) throw error;
}

function Failures({ failures }: { failures: readonly Failure[] }) {
  return (
    <ul style={{ maxBlockSize: "12em", overflow: "auto" }}>
      {failures.map(({ id, why }) => (
        <li key={id} className="text">
          <strong>{id}</strong>: {why}
        </li>
      ))}
    </ul>
  );
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
