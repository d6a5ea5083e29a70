import type { PropertyFilterProps } from "@cloudscape-design/components/property-filter";

/** What jobs are searched by, as the API and the page's address name it. */
export const FILTERS = ["prefix", "search", "tag", "state", "owner"] as const;
export type Filters = Partial<Record<(typeof FILTERS)[number], string>>;

export const PROPERTIES: PropertyFilterProps.FilteringProperty[] = [
  { key: "prefix", propertyLabel: "Id", groupValuesLabel: "Ids", operators: ["^"], defaultOperator: "^" },
  {
    key: "search",
    propertyLabel: "Id or name",
    groupValuesLabel: "Ids and names",
    operators: [":"],
    defaultOperator: ":",
  },
  { key: "tag", propertyLabel: "Tag", groupValuesLabel: "Tags", operators: ["="] },
  { key: "state", propertyLabel: "State", groupValuesLabel: "States", operators: ["="] },
  { key: "owner", propertyLabel: "Owner", groupValuesLabel: "Owners", operators: ["="] },
];

const OPERATORS: Partial<Record<(typeof FILTERS)[number], string>> = { prefix: "^", search: ":" };

/** The filters as Cloudscape's tokens. */
export function queryOf(filters: Filters): PropertyFilterProps.Query {
  return {
    operation: "and",
    tokens: FILTERS.flatMap((name) =>
      filters[name] === undefined
        ? []
        : [{ propertyKey: name, operator: OPERATORS[name] ?? "=", value: filters[name] }],
    ),
  };
}

/** The filters that tokens say: text alone is a part of an id or name, and of two for one property the later counts. */
export function filtersOf(
  query: PropertyFilterProps.Query,
): Record<(typeof FILTERS)[number], string | undefined> {
  const filters: Filters = {};
  for (const { propertyKey, value } of query.tokens) {
    const name = FILTERS.find((each) => each === propertyKey) ?? "search";
    const text = String(value).trim();
    filters[name] = name === "state" ? text.toUpperCase() : text;
  }
  return {
    prefix: undefined,
    search: undefined,
    tag: undefined,
    state: undefined,
    owner: undefined,
    ...filters,
  };
}
