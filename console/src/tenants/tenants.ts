import type { Schemas } from "../api/client";

export type Tenant = Schemas["Tenant"];

/** A column by which tenants are sorted: a field of a tenant. */
export interface Order {
  field: keyof Tenant;
  descending: boolean;
}

export const LARGEST_FIRST: Order = { field: "jobs", descending: true };

/** The tenants whose names contain the text, in order. The row of all others, and rows without a value, are last. */
export function listed(tenants: readonly Tenant[], text: string, { field, descending }: Order): Tenant[] {
  const wanted = text.trim().toLowerCase();
  const found = tenants.filter(({ tenant }) => wanted === "" || tenant?.toLowerCase().includes(wanted));
  return found.sort((a, b) => {
    if (a.tenant === null || b.tenant === null) return Number(a.tenant === null) - Number(b.tenant === null);
    const by = compared(a[field], b[field], descending);
    return by === 0 ? a.tenant.localeCompare(b.tenant) : by;
  });
}

function compared(a: Tenant[keyof Tenant], b: Tenant[keyof Tenant], descending: boolean): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  const by = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
  return descending ? -by : by;
}

/** An amount in dollars, with as many digits as it needs: small tenants cost less than a cent a day. */
export function cost(dollars: number): string {
  if (dollars === 0) return "$0";
  return dollars < 0.01
    ? "< $0.01"
    : `$${dollars.toLocaleString("en-GB", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}
