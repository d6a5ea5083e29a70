import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";

const MOST = 500;

/** The note of a discard. */
export function NoteField({ value, change }: { value: string; change(text: string): void }) {
  return (
    <FormField
      label={
        <span>
          Note <i>- optional</i>
        </span>
      }
      constraintText={`Why the runs need no attention. At most ${MOST} characters.`}
    >
      <Input value={value} onChange={({ detail }) => change(detail.value.slice(0, MOST))} />
    </FormField>
  );
}
