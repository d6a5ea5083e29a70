/** Runs the work once at a time: a call while it is in progress gets the same result. */
export function single<Answer>(work: () => Promise<Answer>): () => Promise<Answer> {
  let present: Promise<Answer> | null = null;
  return () => {
    present ??= work().finally(() => {
      present = null;
    });
    return present;
  };
}
