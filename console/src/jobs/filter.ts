import type { PropertyFilterProps } from "@cloudscape-design/components/property-filter";

/** What jobs are searched by, as the API and the page's address name it. */
export const FILTERS = ["prefix", "name", "tag", "state", "owner"] as const;
export type Filters = Partial<Record<(typeof FILTERS)[number], string>>;

export const PROPERTIES: PropertyFilterProps.FilteringProperty[] = [
  { key: "prefix", propertyLabel: "Id", groupValuesLabel: "Ids", operators: ["^"], defaultOperator: "^" },
  { key: "name", propertyLabel: "Name", groupValuesLabel: "Names", operators: [":"], defaultOperator: ":" },
  { key: "tag", propertyLabel: "Tag", groupValuesLabel: "Tags", operators: ["="] },
  { key: "state", propertyLabel: "State", groupValuesLabel: "States", operators: ["="] },
  { key: "owner", propertyLabel: "Owner", groupValuesLabel: "Owners", operators: ["="] },
];

const OPERATORS: Partial<Record<(typeof FILTERS)[number], string>> = { prefix: "^", name: ":" };

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

/** The filters that tokens say: text alone is the beginning of an id, and of two for one property the later counts. */
export function filtersOf(
  query: PropertyFilterProps.Query,
): Record<(typeof FILTERS)[number], string | undefined> {
  const filters: Filters = {};
  for (const { propertyKey, value } of query.tokens) {
    const name = FILTERS.find((each) => each === propertyKey) ?? "prefix";
    const text = String(value).trim();
    filters[name] = name === "state" ? text.toUpperCase() : text;
  }
  return {
    prefix: undefined,
    name: undefined,
    tag: undefined,
    state: undefined,
    owner: undefined,
    ...filters,
  };
}
