import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Modal from "@cloudscape-design/components/modal";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { type ReactNode, useRef, useState } from "react";
import { useNavigate } from "react-router";
import { fetcher, type Schemas } from "../api/client";
import { asProblem } from "../api/problem";
import { useNotices } from "../app/notices";
import { to } from "../app/routes";
import { useAction } from "../shared/useAction";
import { ChangesTable } from "./ChangesTable";
import { changed, changesOf, conflicts } from "./changes";
import { type Doc, definitionOf, same } from "./document";
import type { Base } from "./draft";
import { ScheduleChange } from "./ScheduleChange";
import { readStored, type Stored } from "./stored";
import type { Editor } from "./useEditor";

/** The edited item: a job or a workflow. */
export interface Subject<Thing extends Saved> {
  what: "job" | "workflow";
  put(doc: Doc, etag: string, dryRun: boolean): Promise<Thing | undefined>;
  read(): Promise<Stored<Saved>>;
  /** Its page. */
  address: string;
  /** Further effects of the change. */
  effects?(wanted: Thing): ReactNode;
}

type Saved = Schemas["Job"] | Schemas["Workflow"];
type Step<Thing> = { is: "review"; wanted: Thing } | { is: "meanwhile"; theirs: Stored<Saved> } | null;

/** The job as a subject. */
export function jobAt(jobId: string): Subject<Schemas["Job"]> {
  return {
    what: "job",
    async put(doc, etag, dryRun) {
      const { data } = await fetcher.PUT("/v1/jobs/{job_id}", {
        params: {
          path: { job_id: jobId },
          query: dryRun ? { dry_run: "true" } : {},
          header: { "If-Match": etag },
        },
        body: doc as unknown as Schemas["JobRequest"],
      });
      return data;
    },
    read: () => readStored(jobId),
    address: to.job(jobId),
    effects: ({ schedule_change: change, timezone }) =>
      change && <ScheduleChange change={change} zone={timezone} />,
  };
}

/** Saving an edit: the changes are shown first. If another user has changed it since, the user decides again. */
export function useSaving<Thing extends Saved>(subject: Subject<Thing>, editor: Editor) {
  const [step, setStep] = useState<Step<Thing>>(null);
  const notices = useNotices();
  const navigate = useNavigate();
  const base = editor.base as Base;

  const put = async (dryRun: boolean) => {
    const data = await subject.put(editor.doc, base.etag, dryRun);
    if (data === undefined) throw new SyntaxError("an empty response");
    return data;
  };
  const sent = useRef<Doc>(null);
  const saved = (job: Saved) => {
    editor.saved();
    notices.done(`Saved ${job.id}`, { next: true });
    void navigate(subject.address.slice(1));
  };
  const refused = async (error: unknown) => {
    setStep(null);
    if (asProblem(error).status !== 412) return editor.refuse(asProblem(error).fields);
    const theirs = await subject.read();
    // The answer to the save before may have been lost.
    if (sent.current !== null && same(theirs.doc, sent.current)) saved(theirs.job);
    else setStep({ is: "meanwhile", theirs });
  };
  const trial = useAction("Review changes", () => put(true), {
    done: (wanted) => setStep({ is: "review", wanted }),
    failed: refused,
    dry: () => true,
  });
  const saving = useAction(
    "Save",
    (wanted: Thing) => {
      sent.current = definitionOf(wanted);
      return put(false);
    },
    { done: saved, failed: refused },
  );
  const failed = saving.error ?? trial.error;
  const close = () => setStep(null);
  const decide = (doc: Doc, theirs: Base) => {
    editor.replace(doc, { doc: theirs.doc, etag: theirs.etag });
    trial.reset();
    saving.reset();
    close();
  };

  return {
    busy: trial.busy || saving.busy,
    error: step?.is === "meanwhile" ? null : failed,
    review() {
      saving.reset();
      trial.run();
    },
    modal:
      step?.is === "review" ? (
        <Review
          base={base}
          wanted={step.wanted}
          effects={subject.effects?.(step.wanted)}
          busy={saving.busy}
          close={close}
          save={() => saving.run(step.wanted)}
        />
      ) : step?.is === "meanwhile" ? (
        <Meanwhile
          what={subject.what}
          base={base}
          mine={editor.doc}
          theirs={step.theirs}
          close={close}
          decide={decide}
        />
      ) : null,
  };
}

function Review({
  base,
  wanted,
  effects,
  busy,
  close,
  save,
}: {
  base: Base;
  wanted: Saved;
  effects: ReactNode;
  busy: boolean;
  close(): void;
  save(): void;
}) {
  const changes = changesOf(base.doc, definitionOf(wanted));
  return (
    <Question
      header={`Save ${wanted.id}?`}
      close={close}
      buttons={
        <Button
          variant="primary"
          loading={busy}
          disabled={changes.length === 0 && !effects}
          disabledReason="No changes."
          onClick={save}
        >
          Save
        </Button>
      }
    >
      {changes.some((each) => each.path[0] === "schedule") && (
        <Box>
          Schedule: <span className="text">{wanted.understood_as ?? "only on demand"}</span>.
        </Box>
      )}
      {effects}
      <ChangesTable changes={changes} />
    </Question>
  );
}

function Meanwhile({
  what,
  base,
  mine,
  theirs,
  close,
  decide,
}: {
  what: string;
  base: Base;
  mine: Doc;
  theirs: Stored<Saved>;
  close(): void;
  decide(doc: Doc, theirs: Base): void;
}) {
  const others = changesOf(base.doc, theirs.doc);
  const own = changesOf(base.doc, mine);
  const both = conflicts(own, others);
  return (
    <Question
      header={`This ${what} was changed by another user`}
      close={close}
      buttons={
        <>
          <Button onClick={() => decide(theirs.doc, theirs)}>Discard my changes</Button>
          <Button variant="primary" onClick={() => decide(changed(theirs.doc, own), theirs)}>
            Apply my changes to the new version
          </Button>
        </>
      }
    >
      <Box>
        {others.length === 0
          ? `No field was changed; the state is now ${theirs.job.state}.`
          : "The table shows the other user's changes. Your changes are not saved."}
      </Box>
      {others.length > 0 && <ChangesTable changes={others} marked={both} />}
      <Box>{both.length > 0 && "If both of you changed a field, your value replaces the other one."}</Box>
    </Question>
  );
}

function Question({
  header,
  buttons,
  close,
  children,
}: {
  header: string;
  buttons: ReactNode;
  close(): void;
  children: ReactNode;
}) {
  return (
    <Modal
      visible
      size="large"
      header={header}
      onDismiss={close}
      footer={
        <Box float="right">
          <SpaceBetween direction="horizontal" size="xs">
            <Button variant="link" onClick={close}>
              Back to the editor
            </Button>
            {buttons}
          </SpaceBetween>
        </Box>
      }
    >
      <SpaceBetween size="m">{children}</SpaceBetween>
    </Modal>
  );
}
