import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { overlap as RULES } from "../shared/kinds.json";
import { isDoc } from "./document";
import { shown } from "./texts";
import { type Editor, errorOf } from "./useEditor";

/** The rule for a run that comes due while another run of its job is active, with an optional limit. */
export function Overlap({ editor }: { editor: Editor }) {
  const { doc, set } = editor;
  const overlap = doc.overlap ?? "skip";
  const value = isDoc(overlap) ? (Object.keys(overlap)[0] ?? "") : shown("text", overlap);
  const bound = isDoc(overlap) ? shown("number", overlap[value]) : "";
  const rule = RULES.find((each) => each.value === value);
  return (
    <SpaceBetween size="l">
      <FormField label="If the previous run is still active" errorText={errorOf(editor.errors, ["overlap"])}>
        <Select
          selectedOption={rule ?? { value, label: value }}
          options={RULES}
          onChange={({ detail }) => set(["overlap"], detail.selectedOption.value)}
        />
      </FormField>
      {rule?.limit != null && (
        <FormField label={rule.limit}>
          <Input
            value={bound}
            placeholder="no limit"
            inputMode="numeric"
            onChange={({ detail: { value: text } }) =>
              set(
                ["overlap"],
                text === "" ? value : { [value]: Number.isNaN(Number(text)) ? text : Number(text) },
              )
            }
          />
        </FormField>
      )}
    </SpaceBetween>
  );
}
