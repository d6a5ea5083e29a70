import { MENU, to } from "./routes";

export interface Crumb {
  text: string;
  href: string;
}

/** The way to a page below a list, the list first and the page last; nothing for the lists themselves. */
export function trailOf(pathname: string): Crumb[] {
  const [list = "", id, part, instant] = pathname.split("/").slice(1).map(decoded);
  const top = MENU.find(({ href }) => href === `#/${list}`);
  if (top === undefined || !id) return [];
  if (list === "runs") return [top, { text: id, href: to.run(id) }];
  if (list === "limits") return [top, { text: id, href: to.limit(id) }];
  if (list === "calendars")
    return [
      top,
      id === "new" ? { text: "Create calendar", href: to.newCalendar } : { text: id, href: to.calendar(id) },
    ];
  if (list === "workflows") {
    if (id === "new") return [top, { text: "Create workflow", href: "#/workflows/new" }];
    const workflow = { text: id, href: to.workflow(id) };
    if (part === "edit") return [top, workflow, { text: "Edit", href: to.editWorkflow(id) }];
    return instant ? [top, workflow, { text: instant, href: to.workflowRun(id, instant) }] : [top, workflow];
  }
  if (id === "new") return [top, { text: "Create job", href: "#/jobs/new" }];
  const job = { text: id, href: to.job(id) };
  if (part === "items" && instant) return [top, job, { text: instant, href: to.items(id, instant) }];
  return part === "edit" ? [top, job, { text: "Edit", href: to.editJob(id) }] : [top, job];
}

/** A part of an address, decoded; unchanged if it cannot be decoded. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
