import type { PropertyFilterProps } from "@cloudscape-design/components/property-filter";

/** What jobs are searched by, as the API and the page's address name it. */
export const FILTERS = ["prefix", "search", "tag", "state", "owner"] as const;
export type Filters = Partial<Record<(typeof FILTERS)[number], string>>;

export const PROPERTIES: PropertyFilterProps.FilteringProperty[] = [
  { key: "prefix", propertyLabel: "Id", groupValuesLabel: "Ids", operators: ["^"], defaultOperator: "^" },
  { key: "tag", propertyLabel: "Tag", groupValuesLabel: "Tags", operators: ["="] },
  { key: "state", propertyLabel: "State", groupValuesLabel: "States", operators: ["="] },
  { key: "owner", propertyLabel: "Owner", groupValuesLabel: "Owners", operators: ["="] },
];

/** What is chosen from a list. The text of the search has a field of its own. */
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

/** The filters that tokens say: text alone is a tag, and of two for one property the later counts. */
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
