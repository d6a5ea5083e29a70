import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import { lazy, Suspense, useState } from "react";
import { useFilters } from "../shared/useFilters";

const WhyForm = lazy(() => import("./WhyForm"));

/** "Why didn't it run?" The form is loaded when somebody asks, or follows a link to a question. */
export function WhyBox() {
  const [{ job }] = useFilters(["job"]);
  const [asked, setAsked] = useState(job !== undefined);
  const ask = <Button onClick={() => setAsked(true)}>Ask</Button>;
  return (
    <Container
      header={
        <Header variant="h2" actions={!asked && ask}>
          Why didn't it run?
        </Header>
      }
    >
      {asked ? (
        <Suspense fallback="Loading">
          <WhyForm />
        </Suspense>
      ) : (
        <Box color="text-body-secondary">
          Name a job and a time; its schedule and its records say what became of it.
        </Box>
      )}
    </Container>
  );
}
