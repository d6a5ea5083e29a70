import Alert from "@cloudscape-design/components/alert";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import type { FieldError } from "../api/problem";
import { CodeArea } from "./CodeArea";
import { inexact } from "./document";
import { faultsOf, syntaxLine } from "./lines";
import type { Editor } from "./useEditor";

/** The job or the workflow in the form that is sent. */
export function JsonSide({
  editor,
  what = "job",
  errors = [],
}: {
  editor: Editor;
  what?: "job" | "workflow";
  /** Shown at their lines. */
  errors?: readonly FieldError[];
}) {
  const { doc, written } = editor;
  const broken = written.syntax === null ? null : syntaxLine(written.text);
  const faults =
    written.syntax === null
      ? faultsOf(written.text, errors)
      : new Map(broken === null ? [] : [[broken, ["the JSON is not valid"]]]);
  const rounded = inexact(doc);
  return (
    <Container header={<Header variant="h2">JSON</Header>}>
      <SpaceBetween size="s">
        <CodeArea
          label={`The ${what} as JSON`}
          value={written.text}
          invalid={written.syntax !== null}
          faults={faults}
          onChange={editor.setText}
        />
        {written.syntax !== null && (
          <Alert
            type="error"
            header="Invalid JSON"
            action={
              <Button onClick={() => editor.replace(doc)}>
                {what === "job" ? "Reset to the values of the form" : "Reset to the last valid JSON"}
              </Button>
            }
          >
            <span className="text">
              {written.syntax}. The {what === "job" ? "form" : "graph"} is updated when the JSON is valid.
            </span>
          </Alert>
        )}
        {rounded.length > 0 && (
          <Alert type="warning" header="These numbers would be rounded">
            <span className="text">
              Affected values: {rounded.join(", ")}. Write them as strings in quotes, or use the command
              <code> duecourse {what}s</code>.
            </span>
          </Alert>
        )}
      </SpaceBetween>
    </Container>
  );
}
