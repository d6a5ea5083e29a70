import Container from "@cloudscape-design/components/container";
import FormField from "@cloudscape-design/components/form-field";
import Header from "@cloudscape-design/components/header";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useRef } from "react";
import { type Doc, type Json, valueAt } from "./document";
import { FieldInput, Fields } from "./FieldInput";
import { type Field, TARGETS } from "./fields";
import { type Editor, errorOf } from "./useEditor";

const PAYLOAD: Field = {
  path: ["payload"],
  label: "Payload",
  kind: "json",
  hint: "JSON that is sent to the target. Its strings can contain placeholders, such as {{due_at}}.",
};
const SHORT: Field[] = [{ path: ["task"], label: "Task", kind: "text" }];

/** The target. If the user chooses another kind and returns, no input is lost. */
export function TargetSection({ editor }: { editor: Editor }) {
  const { doc, set } = editor;
  const before = useRef<Record<string, Json>>({});
  const type = valueAt(doc, ["target", "type"]) ?? (doc.task === undefined ? "" : "task");
  const kind = typeof type === "string" ? type : "";
  const known = Object.hasOwn(TARGETS, kind) ? TARGETS[kind] : undefined;
  const choose = (chosen: string) => {
    if (doc.target !== undefined) before.current[kind] = doc.target;
    const first: Doc = { type: chosen, ...TARGETS[chosen]?.first };
    set(["target"], before.current[chosen] ?? first);
    if (doc.task !== undefined) set(["task"], undefined);
  };
  const fields = doc.task !== undefined && doc.target === undefined ? SHORT : (known?.fields ?? []);
  // Errors of a field are shown at the field, the others at the kind.
  const others = editor.errors.filter(
    ({ field }) => !fields.some(({ path }) => errorOf([{ field, message: "" }], path) !== undefined),
  );
  return (
    <Container header={<Header variant="h2">Target</Header>}>
      <SpaceBetween size="m">
        <FormField label="Kind of target" errorText={errorOf(others, ["target"])}>
          <Select
            selectedOption={kind === "" ? null : { value: kind, label: known?.label ?? kind }}
            placeholder="Choose a target"
            options={Object.entries(TARGETS).map(([value, { label }]) => ({ value, label }))}
            onChange={({ detail }) => choose(detail.selectedOption.value ?? "http")}
          />
        </FormField>
        <Fields key={kind} fields={fields} editor={editor} />
        <FieldInput field={PAYLOAD} editor={editor} />
      </SpaceBetween>
    </Container>
  );
}
