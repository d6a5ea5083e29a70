/** A key's limit in words. */
export function limitText(concurrency: number | null): string {
  if (concurrency === null) return "Of its jobs";
  return concurrency === 0 ? "0: none starts" : String(concurrency);
}
