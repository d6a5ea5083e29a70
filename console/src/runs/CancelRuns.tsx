import Button from "@cloudscape-design/components/button";
import { useState } from "react";
import { freshKey } from "../api/client";
import { useRefusal } from "../app/context";
import { useNotices } from "../app/notices";
import { amountOf, isNothing, restOf } from "../operations/texts";
import { create, estimate } from "../operations/useOperations";
import { useConfirm } from "../shared/useConfirm";
import type { Cancellation } from "./filters";

/** Cancels the runs that the filters select in an operation, after their number was shown. */
export function CancelRuns({ choose }: { choose(): Cancellation }) {
  const { ask, modal } = useConfirm();
  const [counting, setCounting] = useState(false);
  const notices = useNotices();
  const refusal = useRefusal("jobs:write");
  const begin = async () => {
    const choice = choose();
    setCounting(true);
    try {
      const found = await estimate(choice, new AbortController().signal);
      if (isNothing(found)) {
        notices.done(`There are no runs to cancel that match the filters.${restOf(found)}`);
        return;
      }
      const key = freshKey();
      ask({
        header: "Cancel runs?",
        text: `${amountOf(found)} will be cancelled.${restOf(found)} A run that has not started yet will not start. A call in progress is not interrupted; if it fails, it is not retried.`,
        action: "Cancel the runs",
        grave: true,
        async run() {
          await create({ ...choice, expected: found.more ? null : found.runs }, key);
          notices.done(
            `The cancellation of ${amountOf(found)} has started. It continues if you leave this page.`,
          );
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
