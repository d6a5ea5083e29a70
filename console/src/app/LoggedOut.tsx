import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import { PAGE } from "./settings";

/** A user who has logged out here may still be logged in at the issuer, so a button starts the next login. */
export function LoggedOut() {
  return (
    <Box padding="xxl">
      <main>
        <Box variant="h1">You are logged out</Box>
        <Alert action={<Button href={PAGE.href}>Log in</Button>}>
          You may still be logged in at your identity provider. On a shared computer, log out there, too.
        </Alert>
      </main>
    </Box>
  );
}
