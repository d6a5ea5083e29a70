import AttributeEditor from "@cloudscape-design/components/attribute-editor";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import Multiselect from "@cloudscape-design/components/multiselect";
import Select from "@cloudscape-design/components/select";
import { type Doc, isDoc, type Json, valueAt, withValue } from "./document";
import { type Editor, errorOf } from "./useEditor";

const CAUSES = [
  { value: "dead", label: "A run failed permanently" },
  { value: "recovered", label: "The job works again" },
  { value: "late", label: "A run is late" },
  { value: "missed", label: "Runs were missed" },
  { value: "deadline", label: "A deadline was missed" },
  { value: "at_risk", label: "A run is predicted to miss its deadline" },
  { value: "paused", label: "The job was paused" },
  { value: "report", label: "A report was made" },
];
/** The causes that a job can have: only reports are announced as made. */
function causesOf(doc: Doc) {
  const isReport = valueAt(doc, ["target", "type"]) === "report";
  return CAUSES.filter((each) => isReport || each.value !== "report");
}

const FORMATS = ["json", "slack", "teams"].map((value) => ({ value, label: value }));
const PATH = ["notify"];

/** The rules for notices, each with its causes, the job that delivers, and a format. */
export function Notices({ editor, most }: { editor: Editor; most: number }) {
  const value = valueAt(editor.doc, PATH);
  const rules = Array.isArray(value) ? value.filter((each): each is Doc => isDoc(each)) : [];
  const write = (all: Json[]) => editor.set(PATH, all.length === 0 ? undefined : all);
  const change = (place: number, path: string[], to: Json) =>
    write(rules.map((rule, index) => (index === place ? withValue(rule, path, to) : rule)));
  const text = (rule: Doc, name: string) => String(valueAt(rule, ["to", name]) ?? "");
  return (
    <FormField
      label="Notices"
      description="A job delivers each notice as its payload."
      errorText={errorOf(editor.errors, PATH)}
      stretch
    >
      <AttributeEditor<Doc>
        items={rules}
        addButtonText="Add notice"
        removeButtonText="Remove"
        disableAddButton={rules.length >= most}
        empty="There are no notices."
        onAddButtonClick={() => write([...rules, { on: ["dead"], to: { job: "" } }])}
        onRemoveButtonClick={({ detail }) => write(rules.toSpliced(detail.itemIndex, 1))}
        definition={[
          {
            label: "On",
            control: (rule, place) => (
              <Multiselect
                ariaLabel={`Causes of notice ${place + 1}`}
                selectedOptions={CAUSES.filter((each) => [rule.on].flat().includes(each.value))}
                options={causesOf(editor.doc)}
                placeholder="Choose causes"
                onChange={({ detail }) =>
                  change(
                    place,
                    ["on"],
                    detail.selectedOptions.map((each) => each.value ?? ""),
                  )
                }
              />
            ),
          },
          {
            label: "Job that delivers",
            control: (rule, place) => (
              <Input
                ariaLabel={`Job that delivers notice ${place + 1}`}
                value={text(rule, "job")}
                onChange={({ detail }) => change(place, ["to", "job"], detail.value)}
              />
            ),
          },
          {
            label: "Format",
            control: (rule, place) => (
              <Select
                ariaLabel={`Format of notice ${place + 1}`}
                selectedOption={
                  FORMATS.find((each) => each.value === (text(rule, "format") || "json")) ?? null
                }
                options={FORMATS}
                onChange={({ detail }) =>
                  change(place, ["to", "format"], detail.selectedOption.value ?? "json")
                }
              />
            ),
          },
        ]}
      />
    </FormField>
  );
}
