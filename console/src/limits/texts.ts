/** A key's stored rate in words. */
export function rateText(rate: { per_minute: number; burst: number } | null): string {
  return rate === null ? "Set in the jobs" : `${rate.per_minute} per minute, burst ${rate.burst}`;
}

/** A key's limit in words. */
export function limitText(concurrency: number | null): string {
  if (concurrency === null) return "Set in the jobs";
  return concurrency === 0 ? "0 (no run starts)" : String(concurrency);
}
