import { type ComponentType, type LazyExoticComponent, lazy } from "react";

interface Page {
  path: string;
  page: LazyExoticComponent<ComponentType>;
}

/** Every page by its address after `#`; each is loaded when it is opened. */
export const PAGES: readonly Page[] = [
  { path: "/", page: lazy(() => import("../overview/OverviewPage")) },
  { path: "/jobs", page: lazy(() => import("../jobs/JobsPage")) },
  { path: "/jobs/new", page: lazy(() => import("../edit/CreatePage")) },
  { path: "/jobs/:jobId", page: lazy(() => import("../job/JobPage")) },
  { path: "/jobs/:jobId/edit", page: lazy(() => import("../edit/EditPage")) },
  { path: "/runs", page: lazy(() => import("../runs/RunsPage")) },
  { path: "/runs/:runId", page: lazy(() => import("../run/RunPage")) },
  { path: "/workflows", page: lazy(() => import("../workflows/WorkflowsPage")) },
  { path: "/workflows/new", page: lazy(() => import("../edit/CreateWorkflowPage")) },
  { path: "/workflows/:workflowId/edit", page: lazy(() => import("../edit/EditWorkflowPage")) },
  { path: "/workflows/:workflowId", page: lazy(() => import("../workflows/WorkflowPage")) },
  { path: "/workflows/:workflowId/runs/:instant", page: lazy(() => import("../workflows/WorkflowRunPage")) },
  { path: "/calendars", page: lazy(() => import("../calendars/CalendarsPage")) },
  { path: "/calendars/new", page: lazy(() => import("../calendars/CreateCalendarPage")) },
  { path: "/calendars/:calendarId", page: lazy(() => import("../calendars/CalendarPage")) },
  { path: "/limits", page: lazy(() => import("../limits/LimitsPage")) },
  { path: "/limits/:limitKey", page: lazy(() => import("../limits/LimitPage")) },
  { path: "/keys", page: lazy(() => import("../keys/KeysPage")) },
  { path: "/dead-letters", page: lazy(() => import("../dead-letters/DeadLettersPage")) },
  { path: "/stage", page: lazy(() => import("../stage/StagePage")) },
  { path: "/tenants", page: lazy(() => import("../tenants/TenantsPage")) },
];

/** The pages' menu. */
export const MENU = [
  { text: "Overview", href: "#/" },
  { text: "Jobs", href: "#/jobs" },
  { text: "Runs", href: "#/runs" },
  { text: "Workflows", href: "#/workflows" },
  { text: "Calendars", href: "#/calendars" },
  { text: "Limits", href: "#/limits" },
  { text: "API keys", href: "#/keys" },
  { text: "Dead letters", href: "#/dead-letters" },
  { text: "Stage", href: "#/stage" },
];

/** The menu's entry for operators, if the API lists the tenants for them. */
export const TENANTS = { text: "Tenants", href: "#/tenants" };

/** Addresses of single items. */
export const to = {
  job: (id: string) => `#/jobs/${encodeURIComponent(id)}`,
  editJob: (id: string) => `#/jobs/${encodeURIComponent(id)}/edit`,
  copyJob: (id: string) => `#/jobs/new?from=${encodeURIComponent(id)}`,
  run: (id: string) => `#/runs/${encodeURIComponent(id)}`,
  newCalendar: "#/calendars/new",
  calendar: (id: string) => `#/calendars/${encodeURIComponent(id)}`,
  limit: (key: string) => `#/limits/${encodeURIComponent(key)}`,
  workflow: (id: string) => `#/workflows/${encodeURIComponent(id)}`,
  editWorkflow: (id: string) => `#/workflows/${encodeURIComponent(id)}/edit`,
  workflowRun: (id: string, instant: string) =>
    `#/workflows/${encodeURIComponent(id)}/runs/${encodeURIComponent(instant)}`,
};
