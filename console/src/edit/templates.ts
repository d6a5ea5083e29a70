import { type Doc, same } from "./document";

export interface Template {
  id: string;
  text: string;
  description: string;
  doc: Doc;
}

const http = (url: string): Doc => ({ type: "http", url });

/** The first content of a new job. */
export const FIRST: Doc = { schedule: "0 3 * * *", timezone: "UTC", target: http("https://") };

/** Templates of typical jobs. Fields that a template does not contain keep their values. */
export const TEMPLATES: Template[] = [
  {
    id: "http",
    text: "Call a URL",
    description: "Every night at 03:00",
    doc: { schedule: "0 3 * * *", target: http("https://example.com/hook"), payload: { due: "{{due_at}}" } },
  },
  {
    id: "sqs",
    text: "Send a message to a queue",
    description: "Every five minutes",
    doc: {
      schedule: "rate(5 minutes)",
      target: { type: "sqs", queue: "orders" },
      payload: { due: "{{due_at}}" },
    },
  },
  {
    id: "lambda",
    text: "Invoke a Lambda function",
    description: "Every hour",
    doc: { schedule: "0 * * * *", target: { type: "lambda", function: "report" } },
  },
  {
    id: "task",
    text: "Run a registered task",
    description: "Monday to Friday at 09:00",
    doc: { schedule: "0 9 * * MON-FRI", target: { type: "task", name: "report" } },
  },
  {
    id: "long",
    text: "Start a long-running task with a callback",
    description: "Every night; the run ends when the task calls back",
    doc: {
      schedule: "0 1 * * *",
      target: http("https://example.com/start"),
      completion: "callback",
      completion_seconds: 14_400,
      heartbeat_seconds: 300,
    },
  },
  {
    id: "request",
    text: "Run on demand",
    description: "No schedule; runs wait for each other",
    doc: { schedule: null, target: http("https://example.com/rebuild"), overlap: "queue" },
  },
];

/** The fields of a template with input of the user: neither the value `before` nor the template's value. */
export function overwritten(doc: Doc, before: Doc, template: Doc): string[] {
  return Object.keys(template).filter(
    (name) => doc[name] !== undefined && !same(doc[name], before[name]) && !same(doc[name], template[name]),
  );
}
