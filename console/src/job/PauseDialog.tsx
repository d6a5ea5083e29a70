import { useMemo } from "react";
import { api } from "../api/client";
import { useZone } from "../shared/clock";
import { Confirmation } from "../shared/useConfirm";
import { pauseOf } from "./questions";

/** Pauses a job that is known by its id. */
export default function PauseDialog({ id, close }: { id: string; close(): void }) {
  const job = api.useQuery("get", "/v1/jobs/{job_id}", { params: { path: { job_id: id } } });
  const zone = useZone(job.data?.timezone);
  const question = useMemo(() => pauseOf(id, zone), [id, zone]);
  if (job.data === undefined) return null;
  return <Confirmation question={question} close={close} />;
}
