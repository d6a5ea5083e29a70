import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Checkbox from "@cloudscape-design/components/checkbox";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import Modal from "@cloudscape-design/components/modal";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { fetcher, freshKey, type Schemas } from "../api/client";
import { asProblem } from "../api/problem";
import { useNotices } from "../app/notices";
import { useZone } from "../shared/clock";
import { ProblemBox } from "../shared/ProblemBox";
import { duration, inZone } from "../shared/time";
import { useAction } from "../shared/useAction";
import { type When, WhenInput } from "../shared/WhenInput";
import { instantOf } from "../shared/wallInput";

type Job = Pick<Schemas["Job"], "id" | "timezone">;

type Only = Schemas["Backfill"]["only"];
const ONLY: { value: Only; label: string }[] = [
  { value: "missing", label: "Missing occurrences: no run, or skipped because they were late" },
  { value: "failed", label: "Occurrences whose run is dead" },
  { value: "all", label: "All occurrences" },
];
const NEVER: When = { day: "", time: "" };
const START = { from: NEVER, to: NEVER, pace: "1", atOnce: "", newestFirst: false, only: "missing" as Only };

/** Backfills a job: a dry run first shows the number of runs and the cost; only these runs can be started. */
export function BackfillDialog({ job, onClose }: { job: Job; onClose(): void }) {
  const notices = useNotices();
  const [form, setForm] = useState(START);
  const [found, setFound] = useState<Schemas["Backfill"] | null>(null);
  const [key, setKey] = useState(freshKey);
  const zone = useZone(job.timezone);
  const from = instantOf(`${form.from.day} ${form.from.time}`, zone);
  const to = instantOf(`${form.to.day} ${form.to.time}`, zone);
  const change = (part: Partial<typeof START>) => {
    setForm((before) => ({ ...before, ...part }));
    setFound(null);
    action.reset();
    setKey(freshKey());
  };
  const action = useAction(
    `Backfill ${job.id}`,
    async (dryRun: boolean) => {
      const { data } = await fetcher.POST("/v1/jobs/{job_id}/backfill", {
        params: { path: { job_id: job.id }, header: dryRun ? {} : { "Idempotency-Key": key } },
        body: {
          from: from ?? "",
          to: to ?? "",
          pace_seconds: Number(form.pace),
          at_once: form.atOnce === "" ? null : Number(form.atOnce),
          newest_first: form.newestFirst,
          only: form.only,
          dry_run: dryRun,
        },
      });
      return { found: data ?? null, dryRun };
    },
    {
      dry: (dryRun) => dryRun,
      done({ found, dryRun }) {
        if (dryRun) return setFound(found);
        notices.done(
          `${runs(found?.count ?? 0)} of ${job.id} will start, one every ${duration(Number(form.pace))}.`,
        );
        onClose();
      },
    },
  );
  const { busy, error } = action;
  const fields = error === null ? [] : asProblem(error).fields;
  const refused = (field: string) => fields.find((each) => each.field === field)?.message;
  const time = (field: "from" | "to", label: string) => (
    <FormField label={label} constraintText="Midnight if the time is empty." errorText={refused(field)}>
      <WhenInput when={form[field]} zone={zone} onChange={(when) => change({ [field]: when })} />
    </FormField>
  );
  return (
    <Modal
      visible
      header={`Backfill ${job.id}`}
      onDismiss={({ detail }) => detail.reason !== "overlay" && onClose()}
      footer={
        <Box float="right">
          <SpaceBetween direction="horizontal" size="xs">
            <Button variant="link" onClick={onClose}>
              Cancel
            </Button>
            {found === null || found.count === 0 ? (
              <Button
                variant="primary"
                loading={busy}
                disabled={from === null || to === null}
                disabledReason="Set the start and the end of the range."
                onClick={() => action.run(true)}
              >
                Dry run
              </Button>
            ) : (
              <Button variant="primary" loading={busy} onClick={() => action.run(false)}>
                Start {runs(found.count)}
              </Button>
            )}
          </SpaceBetween>
        </Box>
      }
    >
      <SpaceBetween size="m">
        {time("from", "From")}
        {time("to", "Before")}
        <FormField label="Seconds between two runs" errorText={refused("pace_seconds")}>
          <Input type="number" value={form.pace} onChange={({ detail }) => change({ pace: detail.value })} />
        </FormField>
        <FormField
          label="Maximum active runs"
          constraintText="Further runs wait. If this is empty, the limit of the job's overlap rule applies."
          errorText={refused("at_once")}
        >
          <Input
            type="number"
            value={form.atOnce}
            onChange={({ detail }) => change({ atOnce: detail.value })}
          />
        </FormField>
        <FormField label="Occurrences to run">
          <Select
            options={ONLY}
            selectedOption={ONLY.find((each) => each.value === form.only) ?? null}
            onChange={({ detail }) => change({ only: detail.selectedOption.value as Only })}
          />
        </FormField>
        <Checkbox
          checked={form.newestFirst}
          onChange={({ detail }) => change({ newestFirst: detail.checked })}
        >
          Newest first
        </Checkbox>
        {found !== null && <Outlook found={found} zone={zone} />}
        <ProblemBox error={error} />
      </SpaceBetween>
    </Modal>
  );
}

function Outlook({ found, zone }: { found: Schemas["Backfill"]; zone: string }) {
  const counts = Object.entries(found.results ?? {}).filter(([, count]) => count > 0);
  const results = counts.map(([name, count]) => `${count} ${name}`).join(", ");
  if (results === "")
    return <Alert>The schedule has no occurrences in this range, so no runs would start.</Alert>;
  if (found.count === 0) return <Alert>No runs would start. Occurrences in the range: {results}.</Alert>;
  return (
    <Alert header={`${runs(found.count)} for ${price(found.estimated_cost_usd)}`}>
      From {found.first && inZone(found.first, zone)} to {found.last && inZone(found.last, zone)}. The last
      run would start {found.ends_at ? inZone(found.ends_at, zone) : "immediately"}
      {found.at_once === null ? "" : ` or later: at most ${runs(found.at_once)} would be active at a time`}.
      The price does not include the costs of the target. Occurrences in the range: {results}.
    </Alert>
  );
}

function runs(count: number): string {
  return count === 1 ? "1 run" : `${count} runs`;
}

function price(dollars: number): string {
  return dollars < 0.01 ? "less than $0.01" : `about $${dollars.toFixed(2)}`;
}
