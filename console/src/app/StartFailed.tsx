import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";

/** The console could not start: the settings are missing, or the issuer rejected the login. */
export function StartFailed({ error }: { error: unknown }) {
  return (
    <Box padding="xxl">
      <main>
        <Alert
          type="error"
          header="The console could not start"
          action={<Button onClick={tryAgain}>Try again</Button>}
        >
          <span className="text">{error instanceof Error ? error.message : String(error)}</span>
        </Alert>
      </main>
    </Box>
  );
}

/** Reloads the page that the user opened, without the issuer's answer in its address. */
function tryAgain(): void {
  history.replaceState(null, "", location.pathname + location.hash);
  location.reload();
}
