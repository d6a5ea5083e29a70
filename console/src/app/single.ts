/** The same work, but once at a time: who asks while it is under way gets its answer. */
export function single<Answer>(work: () => Promise<Answer>): () => Promise<Answer> {
  let present: Promise<Answer> | null = null;
  return () => {
    present ??= work().finally(() => {
      present = null;
    });
    return present;
  };
}
