import { expect, test } from "vitest";
import { cost, LARGEST_FIRST, listed, type Tenant } from "./tenants";

function tenant(name: string | null, fields: Partial<Tenant> = {}): Tenant {
  return {
    tenant: name,
    state: "active",
    jobs: 0,
    paused: 0,
    quota_used: 0,
    running: 0,
    waiting: 0,
    oldest_waiting_seconds: null,
    runs_per_day: 0,
    dollars_per_day: 0,
    ...fields,
  };
}

const names = (found: Tenant[]) => found.map((each) => each.tenant);
const ALL = [
  tenant(null, { jobs: 900 }),
  tenant("globex", { jobs: 5, oldest_waiting_seconds: 9 }),
  tenant("acme", { jobs: 5 }),
  tenant("Initech", { jobs: 70, oldest_waiting_seconds: 40 }),
];

test("the largest tenant is first, the row of all others last", () => {
  expect(names(listed(ALL, "", LARGEST_FIRST))).toEqual(["Initech", "acme", "globex", null]);
});

test("tenants without a value are last in both directions", () => {
  const field = "oldest_waiting_seconds";
  expect(names(listed(ALL, "", { field, descending: true }))).toEqual(["Initech", "globex", "acme", null]);
  expect(names(listed(ALL, "", { field, descending: false }))).toEqual(["globex", "Initech", "acme", null]);
});

test("tenants are found by a part of their names, whatever its case", () => {
  expect(names(listed(ALL, " TE", LARGEST_FIRST))).toEqual(["Initech"]);
});

test("a cost has cents, and less than a cent is written as such", () => {
  expect([0, 0.0004, 0.01, 1234.5].map(cost)).toEqual(["$0", "< $0.01", "$0.01", "$1,234.50"]);
});
