import CopyToClipboard from "@cloudscape-design/components/copy-to-clipboard";

/** A button that copies the id next to it. */
export function CopyId({ id, what }: { id: string; what: string }) {
  return (
    <CopyToClipboard
      variant="icon"
      textToCopy={id}
      copyButtonAriaLabel={`Copy the ${what}`}
      copySuccessText="Copied"
      copyErrorText="The browser did not allow copying"
    />
  );
}
