import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useNotices } from "../app/notices";

export interface Action<Input, Answer> {
  run(input: Input): void;
  busy: boolean;
  error: unknown;
  answer: Answer | undefined;
  /** Removes the error of the last try. */
  reset(): void;
}

/** A write. Every write of the console is one: it is sent at once or fails at once, because one that waits for the
 * connection would be sent after its form was discarded. `act` gets a signal that ends its retries when the form is
 * left. Afterwards all data are read again. A failure is shown by the form (`error`); if the form was left in the
 * meantime, in a notice that names the action (`what`).
 */
export function useAction<Input = void, Answer = unknown>(
  what: string,
  act: (input: Input, signal: AbortSignal) => Promise<Answer>,
  {
    done,
    failed,
    dry = () => false,
  }: {
    done?(answer: Answer): void;
    failed?(error: unknown): unknown;
    /** Whether it changes nothing with this input: nothing is read again. */
    dry?(input: Input): boolean;
  } = {},
): Action<Input, Answer> {
  const client = useQueryClient();
  const notices = useNotices();
  const left = useRef(new AbortController());
  useEffect(() => {
    if (left.current.signal.aborted) left.current = new AbortController();
    return () => left.current.abort();
  }, []);
  const action = useMutation<Answer, unknown, Input>({
    networkMode: "always",
    retry: false,
    mutationFn: (input) => act(input, left.current.signal),
    onSuccess(answer, input) {
      done?.(answer);
      if (!dry(input)) void client.invalidateQueries();
    },
    onError(error) {
      if (left.current.signal.aborted) notices.failed(`“${what}” failed`, error);
      else return failed?.(error);
    },
  });
  return {
    run: action.mutate,
    busy: action.isPending,
    error: action.error,
    answer: action.data,
    reset: action.reset,
  };
}
