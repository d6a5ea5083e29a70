import Alert from "@cloudscape-design/components/alert";
import { useEffect, useState } from "react";
import { onLimited } from "../api/client";

/** While the API rejects requests because of their rate: the seconds until the next try. */
export function RateLimited() {
  const [left, setLeft] = useState(0);
  useEffect(() => onLimited((seconds) => setLeft((now) => Math.max(now, Math.ceil(seconds)))), []);
  useEffect(() => {
    if (left === 0) return;
    const timer = setTimeout(() => setLeft(left - 1), 1_000);
    return () => clearTimeout(timer);
  }, [left]);
  if (left === 0) return null;
  return (
    <Alert type="info" header="Too many requests">
      The page tries again in {left} s.
    </Alert>
  );
}
