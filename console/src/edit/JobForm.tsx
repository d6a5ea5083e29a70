import Container from "@cloudscape-design/components/container";
import FormField from "@cloudscape-design/components/form-field";
import Header from "@cloudscape-design/components/header";
import Input from "@cloudscape-design/components/input";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { Fields, RareFields } from "./FieldInput";
import { PEOPLE, RARE, RUNNING } from "./fields";
import { Overlap } from "./Overlap";
import type { usePreview } from "./Preview";
import { ScheduleSection } from "./ScheduleSection";
import { TargetSection } from "./TargetSection";
import { type Editor, errorOf } from "./useEditor";

/** The job as a form. It cannot be edited while the JSON next to it is invalid. */
export function JobForm({
  editor,
  preview,
  step,
}: {
  editor: Editor;
  preview: ReturnType<typeof usePreview>;
  step: string | null;
}) {
  return (
    <fieldset
      disabled={editor.written.syntax !== null}
      aria-label="The job as a form"
      style={{ border: 0, margin: 0, padding: 0, minInlineSize: 0 }}
    >
      <SpaceBetween size="l">
        <Container header={<Header variant="h2">Job</Header>}>
          <Fields fields={PEOPLE} editor={editor}>
            {editor.base === null && <Id editor={editor} />}
          </Fields>
        </Container>
        <ScheduleSection editor={editor} preview={preview} step={step} />
        <TargetSection editor={editor} />
        <Container header={<Header variant="h2">Execution</Header>}>
          <SpaceBetween size="m">
            <Fields fields={RUNNING} editor={editor}>
              <Overlap editor={editor} />
            </Fields>
            <RareFields text="Retries, callbacks, deadlines, events" fields={RARE} editor={editor} />
          </SpaceBetween>
        </Container>
      </SpaceBetween>
    </fieldset>
  );
}

function Id({ editor }: { editor: Editor }) {
  const id = editor.doc.id;
  return (
    <FormField
      label="Id"
      description="Letters, digits, - and _. If the field is empty, an id is generated."
      errorText={errorOf(editor.errors, ["id"])}
    >
      <Input
        value={typeof id === "string" ? id : ""}
        spellcheck={false}
        autoComplete={false}
        onChange={({ detail }) => editor.set(["id"], detail.value || undefined)}
      />
    </FormField>
  );
}
