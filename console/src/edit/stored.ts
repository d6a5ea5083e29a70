import { fetcher, type Schemas } from "../api/client";
import { definitionOf } from "./document";
import type { Base } from "./draft";

export interface Stored extends Base {
  job: Schemas["Job"];
}

/** A job with the version that an edit of it is based on. */
export async function readStored(jobId: string, signal?: AbortSignal): Promise<Stored> {
  const params = { path: { job_id: jobId } };
  const { data, response } = await fetcher.GET("/v1/jobs/{job_id}", { params, signal });
  if (data === undefined) throw new SyntaxError("an empty response");
  return { job: data, doc: definitionOf(data), etag: response.headers.get("etag") ?? "" };
}
