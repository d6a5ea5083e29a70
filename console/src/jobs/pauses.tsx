import Checkbox from "@cloudscape-design/components/checkbox";
import FormField from "@cloudscape-design/components/form-field";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import type { Schemas } from "../api/client";
import { inZone } from "../shared/time";
import { jobsText } from "./texts";

type Paused = Pick<Schemas["Job"], "state" | "paused_by" | "paused_because" | "paused_until">;

/** Jobs of a selection that were paused together, by all that can be seen of it. */
export interface Pause {
  key: string;
  text: string;
  jobs: number;
  /** Whether it is resumed unless the user decides otherwise. */
  chosen: boolean;
}

export function keyOf(job: Paused): string {
  return JSON.stringify([job.paused_by, job.paused_because, job.paused_until]);
}

/** The pauses of a selection, the largest first. A few jobs in a pause of their own are resumed on request only. */
export function pausesOf(jobs: readonly Paused[]): Pause[] {
  const found = new Map<string, Paused[]>();
  for (const job of jobs.filter(({ state }) => state === "PAUSED")) {
    found.set(keyOf(job), [...(found.get(keyOf(job)) ?? []), job]);
  }
  const most = Math.max(0, ...[...found.values()].map((each) => each.length));
  return [...found]
    .map(([key, [first, ...others]]) => ({
      key,
      text: `paused by ${first?.paused_by ?? "Duecourse"}: ${first?.paused_because ?? "no reason"}${first?.paused_until ? `, until ${inZone(first.paused_until)}` : ""}`,
      jobs: 1 + others.length,
      chosen: 1 + others.length === most,
    }))
    .sort((one, other) => other.jobs - one.jobs);
}

/** Which of several pauses end. */
export function PauseChoice({
  pauses,
  onChange,
}: {
  pauses: readonly Pause[];
  onChange(keys: ReadonlySet<string>): void;
}) {
  const [keys, setKeys] = useState(new Set(pauses.filter((each) => each.chosen).map(({ key }) => key)));
  return (
    <FormField label="Pauses to end" description="The selected jobs were not paused together.">
      <SpaceBetween size="xs">
        {pauses.map(({ key, text, jobs }) => (
          <Checkbox
            key={key}
            checked={keys.has(key)}
            onChange={({ detail }) => {
              const changed = new Set(keys);
              if (detail.checked) changed.add(key);
              else changed.delete(key);
              setKeys(changed);
              onChange(changed);
            }}
          >
            <span className="text">
              {jobsText(jobs)} {text}
            </span>
          </Checkbox>
        ))}
      </SpaceBetween>
    </FormField>
  );
}
