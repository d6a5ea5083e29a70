/** A key's limit in words. */
export function limitText(concurrency: number | null): string {
  if (concurrency === null) return "Set in the jobs";
  return concurrency === 0 ? "0 (no run starts)" : String(concurrency);
}
