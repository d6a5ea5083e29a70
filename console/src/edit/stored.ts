import { fetcher, type Schemas } from "../api/client";
import { definitionOf } from "./document";
import type { Base } from "./draft";

export interface Stored<Thing = Schemas["Job"]> extends Base {
  job: Thing;
}

/** A job with the version that an edit of it is based on. */
export async function readStored(jobId: string, signal?: AbortSignal): Promise<Stored> {
  const params = { path: { job_id: jobId } };
  const { data, response } = await fetcher.GET("/v1/jobs/{job_id}", { params, signal });
  if (data === undefined) throw new SyntaxError("an empty response");
  return { job: data, doc: definitionOf(data), etag: response.headers.get("etag") ?? "" };
}

/** The same for a workflow, whose steps name their jobs in `job_id`. */
export async function readWorkflow(id: string, signal?: AbortSignal): Promise<Stored<Schemas["Workflow"]>> {
  const params = { path: { workflow_id: id } };
  const { data, response } = await fetcher.GET("/v1/workflows/{workflow_id}", { params, signal });
  if (data === undefined) throw new SyntaxError("an empty response");
  const { schedule = null, timezone = null, jobs = null, ...rest } = definitionOf(data);
  // The fields that are edited most often come first.
  const doc = { id, schedule, timezone, jobs, ...rest };
  return { job: data, doc, etag: response.headers.get("etag") ?? "" };
}
