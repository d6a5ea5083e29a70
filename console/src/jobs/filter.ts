import type { PropertyFilterProps } from "@cloudscape-design/components/property-filter";
import type { Schemas } from "../api/client";

/** The filters of jobs, by their names in the API and in the page's address. */
export const FILTERS = ["prefix", "search", "tag", "state", "owner"] as const;
export type Filters = Partial<Record<(typeof FILTERS)[number], string>>;

/** The choices that the page makes itself, of the jobs that the API returns. */
export const CHOICES = ["steps", "failing"] as const;

/** Whether a job is shown: steps of workflows are not unless `steps` is chosen, and with `failing` only jobs whose last
 * run that came to an end, or its last attempt, failed.
 */
export function isShown(
  job: Pick<Schemas["Job"], "workflow" | "last_runs">,
  { steps, failing }: Partial<Record<(typeof CHOICES)[number], string>>,
): boolean {
  if (job.workflow !== null && steps === undefined) return false;
  const last = job.last_runs?.find(({ state }) => ENDS.includes(state));
  return failing === undefined || last?.state === "DEAD" || last?.state === "RETRYING";
}

const ENDS: readonly string[] = ["SUCCEEDED", "DEAD", "RETRYING"];

export const PROPERTIES: PropertyFilterProps.FilteringProperty[] = [
  { key: "prefix", propertyLabel: "Id", groupValuesLabel: "Ids", operators: ["^"], defaultOperator: "^" },
  { key: "tag", propertyLabel: "Tag", groupValuesLabel: "Tags", operators: ["="] },
  { key: "state", propertyLabel: "State", groupValuesLabel: "States", operators: ["="] },
  { key: "owner", propertyLabel: "Owner", groupValuesLabel: "Owners", operators: ["="] },
];

/** The filters that are chosen from a list. The text of the search has a separate field. */
const CHOSEN = ["prefix", "tag", "state", "owner"] as const;

/** The filters as Cloudscape's tokens. */
export function queryOf(filters: Filters): PropertyFilterProps.Query {
  return {
    operation: "and",
    tokens: CHOSEN.flatMap((name) =>
      filters[name] === undefined
        ? []
        : [{ propertyKey: name, operator: name === "prefix" ? "^" : "=", value: filters[name] }],
    ),
  };
}

/** The filters of tokens: text alone is a tag, and the last token of a property counts. */
export function filtersOf(
  query: PropertyFilterProps.Query,
): Record<(typeof CHOSEN)[number], string | undefined> {
  const filters: Filters = {};
  for (const { propertyKey, value } of query.tokens) {
    const name = CHOSEN.find((each) => each === propertyKey) ?? "tag";
    const text = String(value).trim();
    filters[name] = name === "state" ? text.toUpperCase() : text;
  }
  return {
    prefix: undefined,
    tag: undefined,
    state: undefined,
    owner: undefined,
    ...filters,
  };
}
