import Spinner from "@cloudscape-design/components/spinner";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "react-router";
import type { Schemas } from "../api/client";
import { asProblem } from "../api/problem";
import { to } from "../app/routes";
import { NotFound } from "../shared/NotFound";
import { ProblemBox } from "../shared/ProblemBox";
import { readWorkflow, type Stored } from "./stored";
import { useEditor } from "./useEditor";
import { useSaving } from "./useSaving";
import { WorkflowEditor } from "./WorkflowEditor";
import { workflowAt } from "./workflow";

export default function EditWorkflowPage() {
  const { workflowId = "" } = useParams();
  // Read once: the text does not change during an edit. Saving shows changes by other users.
  const stored = useQuery({
    queryKey: ["edit workflow", workflowId],
    queryFn: ({ signal }) => readWorkflow(workflowId, signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  if (stored.data === undefined) {
    if (stored.error === null) return <Spinner size="large" />;
    if (asProblem(stored.error).status === 404) {
      return <NotFound what="Workflow" list={{ href: "#/workflows", text: "Workflows" }} />;
    }
    return <ProblemBox error={stored.error} retry={() => void stored.refetch()} />;
  }
  return <Edit key={workflowId} id={workflowId} stored={stored.data} />;
}

function Edit({ id, stored }: { id: string; stored: Stored<Schemas["Workflow"]> }) {
  const editor = useEditor(`(workflow) ${id}`, stored.doc, { doc: stored.doc, etag: stored.etag });
  const saving = useSaving(workflowAt(id), editor);
  return (
    <>
      {saving.modal}
      <WorkflowEditor
        title={`Edit ${id}`}
        id={id}
        editor={editor}
        save={{
          text: "Review changes",
          busy: saving.busy,
          error: saving.error,
          run: saving.review,
          cancel: to.workflow(id),
        }}
      />
    </>
  );
}
