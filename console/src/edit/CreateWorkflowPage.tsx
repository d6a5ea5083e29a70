import { useNavigate } from "react-router";
import { useNotices } from "../app/notices";
import { to } from "../app/routes";
import { useAction } from "../shared/useAction";
import type { Doc } from "./document";
import { useEditor } from "./useEditor";
import { WorkflowEditor } from "./WorkflowEditor";
import { putWorkflow } from "./workflow";

const target = (path: string): Doc => ({ type: "http", url: `https://example.com/${path}` });
const FIRST: Doc = {
  id: "my-workflow",
  schedule: "0 2 * * *",
  timezone: "UTC",
  jobs: {
    extract: { job: { target: target("extract") } },
    load: { after: ["extract"], job: { target: target("load") } },
  },
};

export default function CreateWorkflowPage() {
  const editor = useEditor("(new workflow)", FIRST, null);
  const notices = useNotices();
  const navigate = useNavigate();
  const { id: written } = editor.doc;
  const id = typeof written === "string" && written !== "" ? written : undefined;
  const creation = useAction("Create workflow", () => putWorkflow(id ?? "", editor.doc, null, false), {
    done(workflow) {
      editor.saved();
      const when = workflow.understood_as;
      notices.done(`Created ${workflow.id}${when == null ? ". It runs on demand only." : `: ${when}`}`, {
        next: true,
      });
      void navigate(to.workflow(workflow.id).slice(1));
    },
  });
  return (
    <WorkflowEditor
      title="Create workflow"
      id={id}
      editor={editor}
      save={{
        text: "Create workflow",
        busy: creation.busy,
        error: creation.error,
        run: () => creation.run(),
        cancel: "#/workflows",
      }}
    />
  );
}
