import Checkbox from "@cloudscape-design/components/checkbox";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Textarea from "@cloudscape-design/components/textarea";
import { useState } from "react";
import { fetcher } from "../api/client";
import { ApiProblem } from "../api/problem";
import { inZone } from "../shared/time";
import type { Question } from "../shared/useConfirm";
import { type When, WhenInput, whenOf } from "../shared/WhenInput";

/** A field within a question (useConfirm). */
export function TextQuestion({
  label,
  description,
  rows,
  type = "text",
  initial = "",
  onChange,
}: {
  label: string;
  description: string;
  /** More than one line. */
  rows?: number;
  type?: "text" | "number";
  initial?: string;
  onChange(text: string): void;
}) {
  const [value, setValue] = useState(initial);
  const change = (text: string) => {
    setValue(text);
    onChange(text);
  };
  return (
    <FormField label={label} description={<span className="text">{description}</span>}>
      {rows === undefined ? (
        <Input type={type} value={value} onChange={({ detail }) => change(detail.value)} />
      ) : (
        <Textarea
          rows={rows}
          spellcheck={false}
          value={value}
          onChange={({ detail }) => change(detail.value)}
        />
      )}
    </FormField>
  );
}

/** When a run starts: now (null), or at a time. */
export function StartQuestion({ zone, onChange }: { zone: string; onChange(when: When | null): void }) {
  const [start, setStart] = useState<When | null>(null);
  const change = (when: When | null) => {
    setStart(when);
    onChange(when);
  };
  return (
    <>
      <Checkbox
        checked={start !== null}
        onChange={({ detail }) => change(detail.checked ? { day: "", time: "" } : null)}
      >
        Start later
      </Checkbox>
      {start !== null && <WhenInput when={start} zone={zone} onChange={change} />}
    </>
  );
}

/** The instant of a start; null: now. Raises ApiProblem if it is incomplete. */
export function startOf(start: When | null, zone: string): string | null {
  const at = start === null ? null : whenOf(start, zone);
  if (start !== null && at === null)
    throw new ApiProblem(0, "The start time is incomplete", "Enter both a date and a time.");
  return at;
}

const HOUR = 3_600;
/** The planned end of a pause: none, at a time, or after so many seconds. */
const ENDS = [
  { value: "none", label: "None: until it is resumed" },
  { value: String(HOUR), label: "After 1 hour" },
  { value: String(4 * HOUR), label: "After 4 hours" },
  { value: String(24 * HOUR), label: "After 24 hours" },
  { value: "time", label: "At a specific time" },
];

/** A pause as it is requested: its reason, its start (null: now), and its planned end, which may be a time on the clock
 * of a zone.
 */
export interface PauseForm {
  note: string;
  start: When | null;
  ends: string;
  end: When;
  catchUp: boolean;
}

export const NO_PLANNED_PAUSE: PauseForm = {
  note: "",
  start: null,
  ends: "none",
  end: { day: "", time: "" },
  catchUp: false,
};

/** The request's body at `now` (ms). Raises ApiProblem if the start or the end is to be a time and is incomplete. */
export function pauseBody({ note, start, ends, end, catchUp }: PauseForm, zone: string, now = Date.now()) {
  const from = start === null ? null : whenOf(start, zone);
  const begin = from === null ? now : Date.parse(from);
  const until = ends === "none" ? null : ends === "time" ? whenOf(end, zone) : after(Number(ends), begin);
  if ((from === null && start !== null) || (until === null && ends !== "none")) {
    const which = until === null && ends !== "none" ? "end" : "start";
    throw new ApiProblem(0, `The ${which} of the pause is incomplete`, "Enter both a date and a time.");
  }
  return { note: note.trim() || null, from, until, catch_up: until !== null && catchUp };
}

/** In whole seconds, as the API has it. */
function after(seconds: number, now: number): string {
  return new Date((Math.ceil(now / 1_000) + seconds) * 1_000).toISOString().replace(".000Z", "Z");
}

/** The reason and the end of a pause. */
export function PauseQuestion({ zone, onChange }: { zone: string; onChange(form: PauseForm): void }) {
  const [form, setForm] = useState(NO_PLANNED_PAUSE);
  const [now] = useState(() => Date.now());
  const change = (changed: Partial<PauseForm>) => {
    const next = { ...form, ...changed };
    setForm(next);
    onChange(next);
  };
  const seconds = Number(form.ends);
  const from = form.start === null ? null : whenOf(form.start, zone);
  const begin = from === null ? now : Date.parse(from);
  return (
    <SpaceBetween size="m">
      <TextQuestion
        label="Reason"
        description="Optional. All users of the job can see the reason."
        onChange={(note) => change({ note })}
      />
      <Checkbox
        checked={form.start !== null}
        description="A pause that starts later must have an end."
        onChange={({ detail }) => change({ start: detail.checked ? { day: "", time: "" } : null })}
      >
        Start later
      </Checkbox>
      {form.start !== null && (
        <WhenInput when={form.start} zone={zone} onChange={(start) => change({ start })} />
      )}
      <FormField label="End" constraintText={seconds > 0 && `About ${inZone(after(seconds, begin), zone)}`}>
        <Select
          options={ENDS}
          selectedOption={ENDS.find((each) => each.value === form.ends) ?? null}
          onChange={({ detail }) => change({ ends: detail.selectedOption.value ?? "none" })}
        />
      </FormField>
      {form.ends === "time" && <WhenInput when={form.end} zone={zone} onChange={(end) => change({ end })} />}
      {form.ends !== "none" && <CatchUp onChange={(catchUp) => change({ catchUp })} />}
    </SpaceBetween>
  );
}

/** The question that pauses a job. */
export function pauseOf(id: string, zone: string): Question {
  let form = NO_PLANNED_PAUSE;
  return {
    header: `Pause ${id}`,
    text: (
      <PauseQuestion
        zone={zone}
        onChange={(changed) => {
          form = changed;
        }}
      />
    ),
    action: "Pause",
    async run() {
      const params = { path: { job_id: id } };
      await fetcher.POST("/v1/jobs/{job_id}/pause", { params, body: pauseBody(form, zone) });
    },
  };
}

/** Whether to catch up on the occurrences that a pause covered. */
export function CatchUp({ onChange }: { onChange(checked: boolean): void }) {
  const [checked, setChecked] = useState(false);
  return (
    <Checkbox
      checked={checked}
      description="If selected, the job's policy for missed occurrences applies to the occurrences during the pause. If not, they are recorded as skipped."
      onChange={({ detail }) => {
        setChecked(detail.checked);
        onChange(detail.checked);
      }}
    >
      Catch up on the occurrences during the pause
    </Checkbox>
  );
}
