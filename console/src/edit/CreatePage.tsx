import ButtonDropdown from "@cloudscape-design/components/button-dropdown";
import Spinner from "@cloudscape-design/components/spinner";
import { useQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { useNavigate } from "react-router";
import { fetcher, type Schemas } from "../api/client";
import { asProblem } from "../api/problem";
import { useNotices } from "../app/notices";
import { to } from "../app/routes";
import { ProblemBox } from "../shared/ProblemBox";
import { useAction } from "../shared/useAction";
import { useConfirm } from "../shared/useConfirm";
import { useFilters } from "../shared/useFilters";
import { type Doc, withValue, written } from "./document";
import { EditorPage } from "./EditorPage";
import { IsWorkflow } from "./IsWorkflow";
import { readStored } from "./stored";
import { FIRST, overwritten, TEMPLATES } from "./templates";
import { useEditor } from "./useEditor";

/** A new job; with `from` in the address it begins as a copy of that one. */
export default function CreatePage() {
  const [{ from }] = useFilters(["from"]);
  const stored = useQuery({
    queryKey: ["edit", "copy", from],
    queryFn: ({ signal }) => readStored(from ?? "", signal),
    enabled: from !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  if (from === undefined) return <Create key="new" place={null} first={FIRST} />;
  if (stored.error !== null) return <ProblemBox error={stored.error} retry={() => void stored.refetch()} />;
  if (stored.data === undefined) return <Spinner size="large" />;
  if (stored.data.job.target.type === "workflow") return <IsWorkflow id={from} />;
  return <Create key={from} place={`(copy) ${from}`} first={withValue(stored.data.doc, ["id"], undefined)} />;
}

/** `place`: where the unsaved edit is kept. */
function Create({ place, first }: { place: string | null; first: Doc }) {
  const editor = useEditor(place, first, null);
  const before = useRef(first);
  const { ask, modal } = useConfirm();
  const notices = useNotices();
  const navigate = useNavigate();
  const creation = useAction(
    "Create job",
    async (doc: Doc) => {
      const body = doc as unknown as Schemas["JobRequest"];
      const header = { "Idempotency-Key": editor.keyOf(written(doc)) };
      const { data } = await fetcher.POST("/v1/jobs", { body, params: { header } });
      if (data === undefined) throw new SyntaxError("an empty response");
      return data;
    },
    {
      failed: (error) => editor.refuse(asProblem(error).fields),
      done(job) {
        editor.saved();
        const when = job.understood_as;
        notices.done(`Created ${job.id}${when == null ? ". It runs on demand only." : `: ${when}`}`, {
          next: true,
        });
        void navigate(to.job(job.id).slice(1));
      },
    },
  );
  const start = (template: Doc) => {
    const use = async () => {
      before.current = { ...before.current, ...template };
      editor.replace({ ...editor.doc, ...template });
    };
    const { syntax, broken } = editor.written;
    const lost = overwritten(editor.doc, before.current, template);
    if (syntax !== null || Object.keys(broken).length > 0) lost.push("text that is not JSON");
    if (lost.length === 0) return void use();
    ask({
      header: "Replace your input?",
      text: `These values will be lost: ${lost.join(", ")}.`,
      action: "Replace",
      run: use,
    });
  };
  return (
    <>
      {modal}
      <EditorPage
        title="Create job"
        editor={editor}
        actions={
          <ButtonDropdown
            items={TEMPLATES.map(({ id, text, description }) => ({ id, text, secondaryText: description }))}
            onItemClick={({ detail }) => {
              const template = TEMPLATES.find((each) => each.id === detail.id);
              if (template !== undefined) start(template.doc);
            }}
          >
            Start from
          </ButtonDropdown>
        }
        save={{
          text: "Create job",
          busy: creation.busy,
          error: creation.error,
          run: () => creation.run(editor.doc),
          cancel: "#/jobs",
        }}
      />
    </>
  );
}
