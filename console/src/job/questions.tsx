import Checkbox from "@cloudscape-design/components/checkbox";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import Textarea from "@cloudscape-design/components/textarea";
import { useState } from "react";

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
