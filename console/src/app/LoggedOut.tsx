import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import { PAGE } from "./settings";

/** Whoever has logged out here may still be logged in at the issuer: they say when to log in again. */
export function LoggedOut() {
  return (
    <Box padding="xxl">
      <main>
        <Box variant="h1">You are logged out</Box>
        <Alert action={<Button href={PAGE.href}>Log in</Button>}>
          Your login service may still know you. Log out there, too, if others use this browser.
        </Alert>
      </main>
    </Box>
  );
}
