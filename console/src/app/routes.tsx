import { matchPath } from "react-router";
import { loaded } from "./loaded";

interface Page {
  path: string;
  page: ReturnType<typeof loaded<object>>;
}

/** Every page by its address after `#`; each is loaded when it is opened. */
export const PAGES: readonly Page[] = [
  { path: "/", page: loaded(() => import("../overview/OverviewPage")) },
  { path: "/load", page: loaded(() => import("../load/LoadPage")) },
  { path: "/why", page: loaded(() => import("../why/WhyPage")) },
  { path: "/jobs", page: loaded(() => import("../jobs/JobsPage")) },
  { path: "/jobs/new", page: loaded(() => import("../edit/CreatePage")) },
  { path: "/jobs/:jobId", page: loaded(() => import("../job/JobPage")) },
  { path: "/jobs/:jobId/edit", page: loaded(() => import("../edit/EditPage")) },
  { path: "/runs", page: loaded(() => import("../runs/RunsPage")) },
  { path: "/runs/:runId", page: loaded(() => import("../run/RunPage")) },
  { path: "/workers", page: loaded(() => import("../workers/WorkersPage")) },
  { path: "/workflows", page: loaded(() => import("../workflows/WorkflowsPage")) },
  { path: "/workflows/new", page: loaded(() => import("../edit/CreateWorkflowPage")) },
  { path: "/workflows/:workflowId/edit", page: loaded(() => import("../edit/EditWorkflowPage")) },
  { path: "/workflows/:workflowId", page: loaded(() => import("../workflows/WorkflowPage")) },
  {
    path: "/workflows/:workflowId/runs/:instant",
    page: loaded(() => import("../workflows/WorkflowRunPage")),
  },
  {
    path: "/jobs/:workflowId/items/:instant",
    page: loaded(() => import("../workflows/WorkflowRunPage")),
  },
  { path: "/calendars", page: loaded(() => import("../calendars/CalendarsPage")) },
  { path: "/calendars/new", page: loaded(() => import("../calendars/CreateCalendarPage")) },
  { path: "/calendars/:calendarId", page: loaded(() => import("../calendars/CalendarPage")) },
  { path: "/limits", page: loaded(() => import("../limits/LimitsPage")) },
  { path: "/limits/:limitKey", page: loaded(() => import("../limits/LimitPage")) },
  { path: "/keys", page: loaded(() => import("../keys/KeysPage")) },
  { path: "/dead-letters", page: loaded(() => import("../dead-letters/DeadLettersPage")) },
  { path: "/stage", page: loaded(() => import("../stage/StagePage")) },
  { path: "/tenants", page: loaded(() => import("../tenants/TenantsPage")) },
];

/** Loads the page at an address (`#/jobs?search=x`), while there is no session yet to render it. */
export async function preload(hash: string): Promise<void> {
  const pathname = hash.replace(/^#/, "").split("?")[0] || "/";
  const exact = PAGES.find(({ path }) => path === pathname);
  await (exact ?? PAGES.find(({ path }) => matchPath(path, pathname)))?.page.preload();
}

/** The pages' menu. */
export const MENU = [
  { text: "Overview", href: "#/" },
  { text: "Jobs", href: "#/jobs" },
  { text: "Runs", href: "#/runs" },
  { text: "Load", href: "#/load" },
  { text: "Workers", href: "#/workers" },
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
  /** The items of a run of a workflow's step, whose job this is. */
  items: (id: string, instant: string) =>
    `#/jobs/${encodeURIComponent(id)}/items/${encodeURIComponent(instant)}`,
};
