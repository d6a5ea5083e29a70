import Alert from "@cloudscape-design/components/alert";
import Button from "@cloudscape-design/components/button";
import { Component, type ReactNode } from "react";

/** Shown in place of a page that cannot be rendered (a response that cannot be parsed, a file that was not loaded). */
export class PageFailed extends Component<{ children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: null };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    return (
      <Alert
        type="error"
        header="This page could not be displayed"
        action={<Button onClick={() => location.reload()}>Reload the page</Button>}
      >
        <span className="text">
          The stage may have a newer release than this page, or a response was not valid:{" "}
          {this.state.error instanceof Error ? this.state.error.message : String(this.state.error)}
        </span>
      </Alert>
    );
  }
}
