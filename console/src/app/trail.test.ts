import { expect, test } from "vitest";
import { trailOf } from "./trail";

const said = (pathname: string) => trailOf(pathname).map(({ text, href }) => `${text} ${href}`);

test.each([
  ["/", []],
  ["/jobs", []],
  ["/nowhere/at/all", []],
  ["/jobs/new", ["Jobs #/jobs", "Create job #/jobs/new"]],
  ["/jobs/a%20b", ["Jobs #/jobs", "a b #/jobs/a%20b"]],
  ["/jobs/nightly/edit", ["Jobs #/jobs", "nightly #/jobs/nightly", "Edit #/jobs/nightly/edit"]],
  [
    "/runs/nightly.20260328T020000Z",
    ["Runs #/runs", "nightly.20260328T020000Z #/runs/nightly.20260328T020000Z"],
  ],
  ["/limits/crm-eu", ["Limits #/limits", "crm-eu #/limits/crm-eu"]],
  ["/calendars/new", ["Calendars #/calendars", "Create calendar #/calendars/new"]],
  ["/calendars/de-bank", ["Calendars #/calendars", "de-bank #/calendars/de-bank"]],
  ["/runs/%", ["Runs #/runs", "% #/runs/%25"]],
  ["/workflows/new", ["Workflows #/workflows", "Create workflow #/workflows/new"]],
  [
    "/workflows/close/edit",
    ["Workflows #/workflows", "close #/workflows/close", "Edit #/workflows/close/edit"],
  ],
  [
    "/jobs/close--mail/items/20260328T130000Z",
    [
      "Jobs #/jobs",
      "close--mail #/jobs/close--mail",
      "20260328T130000Z #/jobs/close--mail/items/20260328T130000Z",
    ],
  ],
  ["/workflows/close", ["Workflows #/workflows", "close #/workflows/close"]],
  [
    "/workflows/close/runs/20260328T130000Z",
    [
      "Workflows #/workflows",
      "close #/workflows/close",
      "20260328T130000Z #/workflows/close/runs/20260328T130000Z",
    ],
  ],
])("the way to %s", (pathname, trail) => {
  expect(said(pathname)).toEqual(trail);
});
