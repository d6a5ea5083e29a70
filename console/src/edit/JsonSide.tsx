import Alert from "@cloudscape-design/components/alert";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Textarea from "@cloudscape-design/components/textarea";
import { inexact } from "./document";
import type { Editor } from "./useEditor";

/** The job or the workflow in the form that is sent. */
export function JsonSide({ editor, what = "job" }: { editor: Editor; what?: "job" | "workflow" }) {
  const { doc, written } = editor;
  const rounded = inexact(doc);
  return (
    <Container header={<Header variant="h2">JSON</Header>}>
      <SpaceBetween size="s">
        <Textarea
          ariaLabel={`The ${what} as JSON`}
          value={written.text}
          onChange={({ detail }) => editor.setText(detail.value)}
          rows={Math.min(40, Math.max(12, written.text.split("\n").length + 1))}
          invalid={written.syntax !== null}
          spellcheck={false}
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
