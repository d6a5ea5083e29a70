import type { Settings } from "../app/settings";
import { isOver } from "./strip";

/** The time of a run with a margin before and after it, for searches. */
export interface Window {
  from: Date;
  until: Date;
}

const MARGIN_MS = 5 * 60_000;

/** From some minutes before a run was due (it is enqueued ahead of its time) until some after its end. */
export function windowOf(
  run: { state: string; due: string; finished_at: string | null },
  now: number,
): Window {
  const end = run.finished_at === null || !isOver(run) ? now : Date.parse(run.finished_at);
  const due = Date.parse(run.due);
  return { from: new Date(due - 3 * MARGIN_MS), until: new Date(Math.max(end, due) + MARGIN_MS) };
}

/** CloudWatch's page of a region, in its partition. */
function cloudWatch(region: string): string {
  const host = region.startsWith("cn-")
    ? `${region}.console.amazonaws.cn`
    : region.startsWith("us-gov-")
      ? `${region}.console.amazonaws-us-gov.com`
      : `${region}.console.aws.amazon.com`;
  return `https://${host}/cloudwatch/home?region=${region}`;
}

/** CloudWatch Logs Insights with the query that docs/observability.md has, for one field of the log lines; null where
 * the stage does not list log groups.
 */
export function logsLink(
  settings: Pick<Settings, "region" | "logs">,
  field: "correlation_id" | "run_id",
  value: string,
  window: Window,
): string | null {
  const groups = Object.values(settings.logs).flat();
  if (groups.length === 0) return null;
  const query = [
    "fields @timestamp, function_name, level, action, state, reason, error, xray_trace_id",
    `filter ${field} = ${JSON.stringify(value)}`,
    "sort @timestamp",
  ].join("\n| ");
  const detail = [
    `end~'${escaped(window.until.toISOString())}`,
    `start~'${escaped(window.from.toISOString())}`,
    "timeType~'ABSOLUTE",
    "tz~'UTC",
    `editorString~'${escaped(query)}`,
    `source~(${groups.map((group) => `~'${escaped(group)}`).join("")})`,
  ].join("~");
  return `${cloudWatch(settings.region)}#logsV2:logs-insights$3FqueryDetail$3D~(${detail})`;
}

/** X-Ray's traces of that time; null where the stage records none. A run has no trace of its own: the log lines name
 * those of its attempts (`xray_trace_id`).
 */
export function tracesLink(settings: Pick<Settings, "region" | "traces">, window: Window): string | null {
  if (!settings.traces) return null;
  const [from, until] = [window.from, window.until].map((each) => escaped(each.toISOString()));
  const query = `~(query~()~context~(timeRange~(end~'${until}~start~'${from})))`;
  return `${cloudWatch(settings.region)}#xray:traces/query?${query}`;
}

/** A text as in addresses of the AWS console: `*` and hexadecimal digits replace all but letters and digits. */
function escaped(text: string): string {
  return text.replace(/[^A-Za-z0-9_.-]/g, (unit) => {
    const code = unit.charCodeAt(0);
    return code < 256 ? `*${code.toString(16).padStart(2, "0")}` : `**${code.toString(16).padStart(4, "0")}`;
  });
}

/** An address that may be followed; null for `javascript:` and the like. */
export function webAddress(text: string | undefined): string | null {
  if (text === undefined || !URL.canParse(text)) return null;
  return ["https:", "http:"].includes(new URL(text).protocol) ? text : null;
}
