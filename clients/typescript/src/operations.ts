/** Every operation of the API. Written by scripts/client_code from openapi.json (`make openapi`). */

/** Method, path below `/v1/`, and whether the answer is a page of a list. */
export type OperationEntry = readonly [method: string, path: string, page: boolean];

/** The operations that a program reports with the callback token of its attempt. */
export type CallbackName = "completeRun" | "failRun" | "heartbeatRun";

export const OPERATIONS: Readonly<Record<string, OperationEntry>> = {
  listDeadRuns: ["GET", "dead-letters", true],
  redriveDeadRuns: ["POST", "dead-letters/redrive", false],
  getHealth: ["GET", "health", false],
  createJob: ["POST", "jobs", false],
  listJobs: ["GET", "jobs", true],
  getJob: ["GET", "jobs/{job_id}", false],
  putJob: ["PUT", "jobs/{job_id}", false],
  patchJob: ["PATCH", "jobs/{job_id}", false],
  deleteJob: ["DELETE", "jobs/{job_id}", false],
  backfillJob: ["POST", "jobs/{job_id}/backfill", false],
  explainJob: ["GET", "jobs/{job_id}/explain", false],
  getJobHistory: ["GET", "jobs/{job_id}/history", true],
  pauseJob: ["POST", "jobs/{job_id}/pause", false],
  pingJob: ["POST", "jobs/{job_id}/ping", false],
  renameJob: ["POST", "jobs/{job_id}/rename", false],
  resumeJob: ["POST", "jobs/{job_id}/resume", false],
  runJob: ["POST", "jobs/{job_id}/run", false],
  runJobManyTimes: ["POST", "jobs/{job_id}/run/batch", false],
  listRuns: ["GET", "jobs/{job_id}/runs", true],
  skipNext: ["POST", "jobs/{job_id}/skip-next", false],
  sendTestNotice: ["POST", "jobs/{job_id}/test-notice", false],
  getJobWarnings: ["GET", "jobs/{job_id}/warnings", false],
  createJobs: ["POST", "jobs/batch", false],
  pauseJobs: ["POST", "jobs/pause", false],
  resumeJobs: ["POST", "jobs/resume", false],
  findRuns: ["GET", "runs", true],
  getRun: ["GET", "runs/{run_id}", false],
  cancelRun: ["POST", "runs/{run_id}/cancel", false],
  completeRun: ["POST", "runs/{run_id}/complete", false],
  failRun: ["POST", "runs/{run_id}/fail", false],
  heartbeatRun: ["POST", "runs/{run_id}/heartbeat", false],
  getRunPayload: ["GET", "runs/{run_id}/payload", false],
  redriveRun: ["POST", "runs/{run_id}/redrive", false],
  rerun: ["POST", "runs/{run_id}/rerun", false],
  previewSchedule: ["POST", "schedules/preview", false],
  getStage: ["GET", "stage", false],
  getStageMetrics: ["GET", "stage/metrics", false],
  getStats: ["GET", "stats", false],
  listUpcoming: ["GET", "upcoming", false],
  listWorkflows: ["GET", "workflows", true],
  putWorkflow: ["PUT", "workflows/{workflow_id}", false],
  getWorkflow: ["GET", "workflows/{workflow_id}", false],
  getWorkflowRun: ["GET", "workflows/{workflow_id}/runs/{instant}", false],
};
