import type { Schemas } from "../api/client";

/** A target in a line: its kind and what it calls. */
export function targetText(target: Schemas["Job"]["target"]): string {
  switch (target.type) {
    case "http":
      return `${target.method} ${target.url}`;
    case "lambda":
      return `Lambda ${target.function}`;
    case "sqs":
      return `SQS ${target.queue}`;
    case "sns":
      return `SNS ${target.topic}`;
    case "eventbridge":
      return `EventBridge ${target.bus}`;
    case "stepfunctions":
      return `Step Functions ${target.machine}`;
    case "ecs":
      return `ECS ${target.cluster}/${target.task_definition}`;
    case "aws":
      return `AWS ${target.service}:${target.action}`;
    case "task":
      return `task ${target.name}`;
    case "workflow":
      return "workflow";
    default:
      return (target as { type: string }).type; // a kind that a newer release has
  }
}

/** `Last 3 runs, the latest last: SUCCEEDED, SUCCEEDED, DEAD`. */
export function stripText(states: readonly string[]): string {
  if (states.length === 0) return "No runs yet";
  return `Last ${states.length === 1 ? "run" : `${states.length} runs, the latest last`}: ${states.join(", ")}`;
}

/** `1 job`, `120 jobs`. */
export function jobsText(count: number): string {
  return count === 1 ? "1 job" : `${count} jobs`;
}
