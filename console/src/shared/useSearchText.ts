import { useEffect, useRef, useState } from "react";

/** The text of a search field. The search is in the page's address, which follows the text after a pause in typing. The
 * address replaces the text only if it was changed by something else, such as the Back button: what is typed in the
 * meantime stays, and so does a space at the end.
 */
export function useSearchText(search: string | undefined, change: (search: string) => void) {
  const now = search ?? "";
  const [text, setText] = useState(now);
  const sent = useRef(now);
  useEffect(() => {
    if (now === sent.current) return;
    sent.current = now;
    setText(now);
  }, [now]);
  const send = (typed: string) => {
    sent.current = typed.trim();
    change(sent.current);
  };
  return { text, setText, send };
}
