import Alert from "@cloudscape-design/components/alert";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Textarea from "@cloudscape-design/components/textarea";
import { inexact } from "./document";
import type { Editor } from "./useEditor";

/** The job as it is sent. */
export function JsonSide({ editor }: { editor: Editor }) {
  const { doc, written } = editor;
  const rounded = inexact(doc);
  return (
    <Container header={<Header variant="h2">JSON</Header>}>
      <SpaceBetween size="s">
        <Textarea
          ariaLabel="The job as JSON"
          value={written.text}
          onChange={({ detail }) => editor.setText(detail.value)}
          rows={Math.min(40, Math.max(12, written.text.split("\n").length + 1))}
          invalid={written.syntax !== null}
          spellcheck={false}
        />
        {written.syntax !== null && (
          <Alert
            type="error"
            header="This is not the JSON of a job"
            action={<Button onClick={() => editor.replace(doc)}>Take back to what the form shows</Button>}
          >
            <span className="text">{written.syntax}. The form waits until it is.</span>
          </Alert>
        )}
        {rounded.length > 0 && (
          <Alert type="warning" header="A browser cannot keep these numbers">
            <span className="text">
              They would be sent rounded: {rounded.join(", ")}. Write them as texts in quotes, or use the
              command
              <code> duecourse jobs</code>.
            </span>
          </Alert>
        )}
      </SpaceBetween>
    </Container>
  );
}
