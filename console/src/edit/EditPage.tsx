import Alert from "@cloudscape-design/components/alert";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Spinner from "@cloudscape-design/components/spinner";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "react-router";
import type { Schemas } from "../api/client";
import { asProblem } from "../api/problem";
import { to } from "../app/routes";
import { NotFound } from "../shared/NotFound";
import { ProblemBox } from "../shared/ProblemBox";
import { EditorPage } from "./EditorPage";
import { IsWorkflow } from "./IsWorkflow";
import { readStored, type Stored } from "./stored";
import { useEditor } from "./useEditor";
import { jobAt, useSaving } from "./useSaving";

export default function EditPage() {
  const { jobId = "" } = useParams();
  // Read once: the form does not change during an edit. Saving shows changes by other users.
  const stored = useQuery({
    queryKey: ["edit", jobId],
    queryFn: ({ signal }) => readStored(jobId, signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  if (stored.data === undefined) {
    if (stored.error === null) return <Spinner size="large" />;
    const gone = asProblem(stored.error).status === 404;
    return gone ? (
      <NotFound what="Job" list={{ href: "#/jobs", text: "All jobs" }} />
    ) : (
      <ProblemBox error={stored.error} retry={() => void stored.refetch()} />
    );
  }
  if (stored.data.job.target.type === "workflow") return <IsWorkflow id={jobId} />;
  return <Edit key={jobId} stored={stored.data} />;
}

function Edit({ stored }: { stored: Stored }) {
  const { job } = stored;
  const editor = useEditor(job.id, stored.doc, { doc: stored.doc, etag: stored.etag });
  const saving = useSaving(jobAt(job.id), editor);
  return (
    <>
      {saving.modal}
      <EditorPage
        title={`Edit ${job.id}`}
        editor={editor}
        step={job.workflow}
        notes={<Notes job={job} />}
        save={{
          text: "Review changes",
          busy: saving.busy,
          error: saving.error,
          run: saving.review,
          cancel: to.job(job.id),
        }}
      />
    </>
  );
}

/** Notes about fields that cannot be edited, or not as a user may expect. */
function Notes({ job }: { job: Schemas["Job"] }) {
  return (
    <SpaceBetween size="s">
      {job.state === "COMPLETED" && (
        <Alert type="info" header="This job is completed">
          Its schedule has ended. To run the job again, set a schedule with a future occurrence.
        </Alert>
      )}
      {job.workflow !== null && (
        <Alert type="info" header="This job is a step of a workflow">
          Its start is controlled by <Link href={to.workflow(job.workflow)}>{job.workflow}</Link>. It cannot
          have a schedule and cannot be deleted. Its target and settings can be changed.
        </Alert>
      )}
    </SpaceBetween>
  );
}
