import Alert from "@cloudscape-design/components/alert";
import Button from "@cloudscape-design/components/button";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { asProblem } from "../api/problem";
import { useStage } from "./context";

/** An alert after the first 401 response. The page is not left automatically, so that no input is lost. */
export function ExpiredLogin() {
  const { settings, session } = useStage();
  const client = useQueryClient();
  const [expired, setExpired] = useState(false);
  useEffect(() => {
    const look = (error: unknown) => {
      if (error !== null && error !== undefined && asProblem(error).status === 401) setExpired(true);
    };
    const ends = [
      client.getQueryCache().subscribe((event) => look(event.query.state.error)),
      client.getMutationCache().subscribe((event) => look(event.mutation?.state.error)),
    ];
    return () => {
      for (const end of ends) end();
    };
  }, [client]);
  if (!expired || settings.auth === "none") return null;
  return (
    <Alert
      type="warning"
      header="Your login has expired"
      action={<Button onClick={() => void session.login()}>Log in again</Button>}
    >
      Your input on this page is kept.
    </Alert>
  );
}
