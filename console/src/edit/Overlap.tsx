import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { isDoc } from "./document";
import { shown } from "./texts";
import { type Editor, errorOf } from "./useEditor";

const OPTIONS = [
  { value: "skip", label: "Skip the new run" },
  { value: "queue", label: "Let the new run wait" },
  { value: "newest", label: "Let only the newest wait" },
  { value: "replace", label: "Cancel the old run" },
  { value: "allow", label: "Run both" },
];

/** What happens to a run that is due while another of its job runs; a line of waiting runs may have a bound. */
export function Overlap({ editor }: { editor: Editor }) {
  const { doc, set } = editor;
  const overlap = doc.overlap ?? "skip";
  const bound = isDoc(overlap) ? shown("number", overlap.queue) : "";
  const value = isDoc(overlap) ? "queue" : shown("text", overlap);
  return (
    <SpaceBetween size="l">
      <FormField label="When the run before still goes on" errorText={errorOf(editor.errors, ["overlap"])}>
        <Select
          selectedOption={OPTIONS.find((each) => each.value === value) ?? { value, label: value }}
          options={OPTIONS}
          onChange={({ detail }) => set(["overlap"], detail.selectedOption.value)}
        />
      </FormField>
      {value === "queue" && (
        <FormField label="Waiting runs at most">
          <Input
            value={bound}
            placeholder="no bound"
            inputMode="numeric"
            onChange={({ detail: { value: text } }) =>
              set(
                ["overlap"],
                text === "" ? "queue" : { queue: Number.isNaN(Number(text)) ? text : Number(text) },
              )
            }
          />
        </FormField>
      )}
    </SpaceBetween>
  );
}
