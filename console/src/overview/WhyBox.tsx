import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import { lazy, Suspense, useState } from "react";
import { useFilters } from "../shared/useFilters";

const WhyForm = lazy(() => import("./WhyForm"));

/** "Why did a job not run?" The form is loaded when it is opened, or by a link to an explanation. */
export function WhyBox() {
  const [{ job }] = useFilters(["job"]);
  const [asked, setAsked] = useState(job !== undefined);
  const ask = <Button onClick={() => setAsked(true)}>Explain</Button>;
  return (
    <Container
      header={
        <Header variant="h2" actions={!asked && ask}>
          Why did a job not run?
        </Header>
      }
    >
      {asked ? (
        <Suspense fallback="Loading">
          <WhyForm />
        </Suspense>
      ) : (
        <Box color="text-body-secondary">Enter a job and a time to see why the job did not run.</Box>
      )}
    </Container>
  );
}
