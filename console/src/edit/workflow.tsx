import Box from "@cloudscape-design/components/box";
import { fetcher, type Schemas } from "../api/client";
import { to } from "../app/routes";
import { few } from "../workflows/graph";
import type { Doc } from "./document";
import { readWorkflow } from "./stored";
import type { Subject } from "./useSaving";

type Put = Schemas["WorkflowPut"];

/** Puts a workflow. `etag` is the version that it replaces; null: it must not exist. */
export async function putWorkflow(
  id: string,
  doc: Doc,
  etag: string | null,
  dryRun: boolean,
  signal?: AbortSignal,
): Promise<Put> {
  const { data } = await fetcher.PUT("/v1/workflows/{workflow_id}", {
    params: {
      path: { workflow_id: id },
      query: dryRun ? { dry_run: "true" } : {},
      header: etag === null ? { "If-None-Match": "*" } : { "If-Match": etag },
    },
    body: doc as unknown as Schemas["WorkflowRequest"],
    signal,
  });
  if (data === undefined) throw new SyntaxError("an empty response");
  return data;
}

/** The workflow as a subject of useSaving. */
export function workflowAt(id: string): Subject<Put> {
  return {
    what: "workflow",
    put: (doc, etag, dryRun) => putWorkflow(id, doc, etag, dryRun),
    read: () => readWorkflow(id),
    address: to.workflow(id),
    effects: (wanted) => effectsOf(wanted) && <Box>{effectsOf(wanted)}</Box>,
  };
}

/** Which jobs a change creates and changes; empty: none. */
export function effectsOf({ created, changed }: Pick<Put, "created" | "changed">): string {
  const list = (verb: string, ids: readonly string[]) => (ids.length === 0 ? [] : [`${verb} ${few(ids)}.`]);
  return [...list("Creates", created), ...list("Changes", changed)].join(" ");
}
