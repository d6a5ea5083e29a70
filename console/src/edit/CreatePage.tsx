import ButtonDropdown from "@cloudscape-design/components/button-dropdown";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "react-router";
import { fetcher, type Schemas } from "../api/client";
import { asProblem } from "../api/problem";
import { useNotices } from "../app/notices";
import { to } from "../app/routes";
import { type Doc, written } from "./document";
import { EditorPage } from "./EditorPage";
import { FIRST, TEMPLATES } from "./templates";
import { useEditor } from "./useEditor";

export default function CreatePage() {
  const editor = useEditor(null, FIRST, null);
  const client = useQueryClient();
  const notices = useNotices();
  const navigate = useNavigate();
  const creation = useMutation({
    mutationFn: async (doc: Doc) => {
      const body = doc as unknown as Schemas["JobRequest"];
      const header = { "Idempotency-Key": editor.keyOf(written(doc)) };
      const { data } = await fetcher.POST("/v1/jobs", { body, params: { header } });
      if (data === undefined) throw new SyntaxError("an empty answer");
      return data;
    },
    onError: (error) => editor.refuse(asProblem(error).fields),
    onSuccess: (job) => {
      editor.saved();
      notices.done(`Created ${job.id}: ${job.understood_as ?? "runs on request"}`);
      void client.invalidateQueries();
      void navigate(to.job(job.id).slice(1));
    },
  });
  return (
    <EditorPage
      title="Create job"
      editor={editor}
      actions={
        <ButtonDropdown
          items={TEMPLATES.map(({ id, text, description }) => ({ id, text, secondaryText: description }))}
          onItemClick={({ detail }) => {
            const template = TEMPLATES.find((each) => each.id === detail.id);
            editor.replace({ ...editor.doc, ...template?.doc });
          }}
        >
          Start from
        </ButtonDropdown>
      }
      save={{
        text: "Create job",
        busy: creation.isPending,
        error: creation.error,
        run: () => creation.mutate(editor.doc),
        cancel: "#/jobs",
      }}
    />
  );
}
