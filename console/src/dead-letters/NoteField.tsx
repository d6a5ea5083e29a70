import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";

const MOST = 500;

/** A note of people for a run: that of a discard, or a `required` one with this label. */
export function NoteField({
  required,
  value,
  change,
}: {
  required?: string;
  value: string;
  change(text: string): void;
}) {
  const optional = (
    <span>
      Note <i>- optional</i>
    </span>
  );
  return (
    <FormField
      label={required ?? optional}
      constraintText={`${required === undefined ? "Why the runs need no attention. " : ""}At most ${MOST} characters.`}
    >
      <Input value={value} onChange={({ detail }) => change(detail.value.slice(0, MOST))} />
    </FormField>
  );
}
