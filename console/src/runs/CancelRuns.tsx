import Button from "@cloudscape-design/components/button";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { fetcher, type Schemas } from "../api/client";
import { useRefusal } from "../app/context";
import { useNotices } from "../app/notices";
import { patiently } from "../shared/patiently";
import { useConfirm } from "../shared/useConfirm";
import type { Cancellation } from "./filters";

const AT_ONCE = 100;
const MOST_COUNTED = 10_000;
const NOTICE = "cancel-runs";

/** Cancels the runs that the filters select, after their number was shown. */
export function CancelRuns({ choose }: { choose(): Cancellation }) {
  const { ask, modal } = useConfirm();
  const [counting, setCounting] = useState(false);
  const notices = useNotices();
  const client = useQueryClient();
  const ofAJob = useRefusal("jobs:write");
  const ofAll = useRefusal("ops");
  const refusal = choose().job_id === undefined ? ofAll : ofAJob;
  const begin = async () => {
    const choice = choose();
    setCounting(true);
    try {
      const { cancelled, more } = await all(choice, true);
      if (cancelled === 0) {
        notices.done("No runs match the filters.");
        return;
      }
      ask({
        header: "Cancel runs?",
        text: `${more ? "More than " : ""}${runs(cancelled)} will be cancelled. A run that has not started yet will not start. A call in progress is not interrupted; if it fails, it is not retried.`,
        action: "Cancel the runs",
        async run() {
          const show = (count: number) =>
            notices.show({
              id: NOTICE,
              type: "info",
              loading: true,
              dismissible: false,
              content: `Cancelling ${runs(cancelled)}: ${count.toLocaleString("en-GB")} done`,
            });
          show(0);
          const done = await all(choice, false, show).finally(() => notices.dismiss(NOTICE));
          const refused = done.refused > 0 ? ` ${runs(done.refused)} could not be cancelled; try again.` : "";
          notices.done(`The cancellation of ${runs(done.cancelled)} was requested.${refused}`);
          await client.invalidateQueries();
        },
      });
    } catch (failure) {
      notices.failed("The runs could not be counted", failure);
    } finally {
      setCounting(false);
    }
  };
  return (
    <>
      <Button
        onClick={() => void begin()}
        loading={counting}
        disabled={refusal !== undefined}
        disabledReason={refusal}
      >
        Cancel these runs
      </Button>
      {modal}
    </>
  );
}

/** The sums over all pages, state by state: waiting runs are cancelled first, or they start instead of active ones. A run
 * remains in the list until its worker has ended it, so each page follows the last one.
 */
async function all(choice: Cancellation, dry_run: boolean, progress: (count: number) => void = () => {}) {
  const sums = { cancelled: 0, refused: 0, more: false };
  const signal = new AbortController().signal;
  for (const state of choice.state) {
    let cursor: string | null = null;
    do {
      if (dry_run && sums.cancelled >= MOST_COUNTED) return { ...sums, more: true };
      const body: Schemas["CancelRunsRequest"] = {
        ...choice,
        state: [state],
        limit: AT_ONCE,
        cursor,
        dry_run,
      };
      const { data } = await patiently(() => fetcher.POST("/v1/runs/cancel", { body }), signal);
      if (data === undefined) throw new SyntaxError("an empty response");
      sums.cancelled += data.cancelled;
      sums.refused += data.refused;
      progress(sums.cancelled + sums.refused);
      cursor = data.next_cursor;
    } while (cursor !== null);
  }
  return sums;
}

function runs(count: number): string {
  return `${count.toLocaleString("en-GB")} ${count === 1 ? "run" : "runs"}`;
}
