// Answers {"expr", "tz", "after", "count"} lines with croner's own {"next": [...]} or {"error": "..."} lines.
import { createInterface } from "node:readline";
import { Cron } from "../../../node_modules/croner/dist/croner.js";

for await (const line of createInterface({ input: process.stdin })) {
  const { expr, tz, after, count } = JSON.parse(line);
  let answer;
  try {
    // "no-wildcard" is croner's name for the rule nearest to ours: fixed unless a field has a wildcard or a step.
    const cron = new Cron(expr, { timezone: tz, mode: "5-or-6-parts", fixedTimeRule: "no-wildcard" });
    answer = { next: cron.nextRuns(count, new Date(after)).map((at) => at.toISOString().replace(".000Z", "Z")) };
  } catch (error) {
    answer = { error: String(error) };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
