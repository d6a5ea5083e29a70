import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Grid from "@cloudscape-design/components/grid";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Tabs from "@cloudscape-design/components/tabs";
import { type ReactNode, useEffect, useState, useSyncExternalStore } from "react";
import { asProblem } from "../api/problem";
import { useRefusal } from "../app/context";
import { Time } from "../shared/Instant";
import { ProblemBox } from "../shared/ProblemBox";
import { useFilters } from "../shared/useFilters";
import { inexact } from "./document";
import { JobForm } from "./JobForm";
import { JsonSide } from "./JsonSide";
import { usePreview } from "./Preview";
import { type Editor, fieldsOf } from "./useEditor";
import { useLeaving } from "./useLeaving";

const WIDE = matchMedia("(min-width: 1100px)");

/** The form with the JSON next to it (on a narrow screen: in a tab), and the buttons that save it. */
export function EditorPage({
  title,
  editor,
  step = null,
  notes,
  actions,
  save,
}: {
  title: ReactNode;
  editor: Editor;
  step?: string | null;
  notes?: ReactNode;
  actions?: ReactNode;
  save: { text: string; busy: boolean; error: unknown; run(): void; cancel: string };
}) {
  const preview = usePreview(editor.doc);
  const refusal = useRefusal("jobs:write");
  const wide = useWide();
  const [{ view }, look] = useFilters(["view"]);
  const modal = useLeaving(editor.unsaved, asProblem(save.error).status !== 401);
  const [reported, setReported] = useState<unknown>(null);
  useEffect(() => {
    // Once for each refusal: to the first field that was refused.
    if (save.error === reported) return;
    setReported(save.error);
    document.querySelector<HTMLElement>("fieldset [aria-invalid='true']")?.focus();
  }, [save.error, reported]);

  const { syntax, broken } = editor.written;
  const rounded = inexact(editor.doc).length > 0;
  const why =
    refusal ??
    (syntax === null ? undefined : "The JSON is not valid.") ??
    (Object.keys(broken).length > 0
      ? "Some fields are not valid JSON; correct the marked fields."
      : undefined) ??
    (rounded ? "A number would be rounded; see the message next to the JSON." : undefined);
  const shown: Editor = {
    ...editor,
    errors: [
      ...editor.errors,
      ...fieldsOf(preview.error).filter(({ field }) => editor.errors.every((each) => each.field !== field)),
    ],
  };
  const form = <JobForm editor={shown} preview={preview} step={step} />;
  const json = <JsonSide editor={editor} errors={shown.errors} />;
  return (
    <SpaceBetween size="l">
      {modal}
      <Header variant="h1" actions={actions}>
        <span className="text">{title}</span>
      </Header>
      {notes}
      {editor.found !== null && (
        <Alert
          type="info"
          header="Unsaved changes restored"
          action={<Button onClick={editor.startOver}>Start over</Button>}
        >
          These changes were stored in this tab at <Time at={editor.found} />. Continue editing, or start
          over.
        </Alert>
      )}
      {wide ? (
        <Grid gridDefinition={[{ colspan: 7 }, { colspan: 5 }]}>
          {form}
          <div style={{ position: "sticky", insetBlockStart: 16 }}>{json}</div>
        </Grid>
      ) : (
        <Tabs
          activeTabId={view === "json" ? "json" : "form"}
          onChange={({ detail }) => look({ view: detail.activeTabId === "json" ? "json" : undefined })}
          tabs={[
            { id: "form", label: "Form", content: form },
            { id: "json", label: "JSON", content: json },
          ]}
        />
      )}
      <ProblemBox error={save.error} />
      <Box float="right">
        <SpaceBetween direction="horizontal" size="xs">
          <Button variant="link" href={save.cancel}>
            Cancel
          </Button>
          <Button
            variant="primary"
            loading={save.busy}
            disabled={why !== undefined}
            disabledReason={why}
            onClick={save.run}
          >
            {save.text}
          </Button>
        </SpaceBetween>
      </Box>
    </SpaceBetween>
  );
}

function useWide(): boolean {
  return useSyncExternalStore(
    (changed) => {
      WIDE.addEventListener("change", changed);
      return () => WIDE.removeEventListener("change", changed);
    },
    () => WIDE.matches,
  );
}
