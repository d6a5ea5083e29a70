import Box from "@cloudscape-design/components/box";
import Checkbox from "@cloudscape-design/components/checkbox";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Textarea from "@cloudscape-design/components/textarea";
import { useState } from "react";
import { ApiProblem } from "../api/problem";
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

/** A pause as it is requested: its reason, and its planned end on the clock of a zone. */
export interface PauseForm {
  note: string;
  end: When;
  catchUp: boolean;
}

export const NO_PAUSE: PauseForm = { note: "", end: { day: "", time: "" }, catchUp: false };

/** The request's body. Raises ApiProblem if the end has only a date or only a time. */
export function pauseBody({ note, end, catchUp }: PauseForm, zone: string) {
  const until = whenOf(end, zone);
  if (until === null && (end.day || end.time)) {
    throw new ApiProblem(
      0,
      "The end of the pause is incomplete",
      "Enter both a date and a time for the end of the pause, or leave both empty.",
    );
  }
  return { note: note.trim() || null, until, catch_up: until !== null && catchUp };
}

/** The reason and the end of a pause. */
export function PauseQuestion({ zone, onChange }: { zone: string; onChange(form: PauseForm): void }) {
  const [form, setForm] = useState(NO_PAUSE);
  const change = (changed: Partial<PauseForm>) => {
    const next = { ...form, ...changed };
    setForm(next);
    onChange(next);
  };
  return (
    <SpaceBetween size="m">
      <TextQuestion
        label="Reason"
        description="Shown to all users of the job. Optional."
        onChange={(note) => change({ note })}
      />
      <div>
        <Box variant="p" color="text-body-secondary">
          Optional. The time at which the job resumes automatically.
        </Box>
        <WhenInput when={form.end} zone={zone} onChange={(end) => change({ end })} />
      </div>
      {form.end.day !== "" && <CatchUp onChange={(catchUp) => change({ catchUp })} />}
    </SpaceBetween>
  );
}

/** What becomes of the occurrences that a pause covered. */
export function CatchUp({ onChange }: { onChange(checked: boolean): void }) {
  const [checked, setChecked] = useState(false);
  return (
    <Checkbox
      checked={checked}
      description="The occurrences during the pause are treated as missed, according to the job's policy. Otherwise they are recorded as skipped."
      onChange={({ detail }) => {
        setChecked(detail.checked);
        onChange(detail.checked);
      }}
    >
      Catch up on the occurrences during the pause
    </Checkbox>
  );
}
