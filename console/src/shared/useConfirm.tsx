import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Modal from "@cloudscape-design/components/modal";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { type ReactNode, useState } from "react";
import { ProblemBox } from "./ProblemBox";
import { useAction } from "./useAction";

export interface Question {
  header: string;
  /** The effect of the action, with numbers. */
  text: ReactNode;
  /** The verb on the button. */
  action: string;
  /** Whether it deletes, cancels or repeats something: Enter does not confirm it. */
  grave?: boolean;
  run(): Promise<void>;
}

/** Requests a confirmation before something is lost or many things change: `ask({...})`, and the modal to render. A
 * failure is shown in the modal, which stays open. Unless the question is grave, Enter confirms it.
 */
export function useConfirm(): { ask(question: Question): void; modal: ReactNode } {
  const [question, setQuestion] = useState<Question | null>(null);
  // A question that was opened since then stays.
  const close = () => setQuestion((present) => (present === question ? null : present));
  return { ask: setQuestion, modal: question && <Confirmation question={question} close={close} /> };
}

/** The modal of a question. */
export function Confirmation({ question, close }: { question: Question; close(): void }) {
  const action = useAction(question.action, question.run, { done: close });
  const run = () => action.run();
  return (
    <Modal
      visible
      header={question.header}
      // A click outside of the dialog does not discard the input.
      onDismiss={({ detail }) => detail.reason !== "overlay" && close()}
      footer={
        <Box float="right">
          <SpaceBetween direction="horizontal" size="xs">
            <Button variant="link" onClick={close}>
              Cancel
            </Button>
            <Button variant="primary" loading={action.busy} onClick={run}>
              {question.action}
            </Button>
          </SpaceBetween>
        </Box>
      }
    >
      <SpaceBetween size="m">
        {/* biome-ignore lint/a11y/noStaticElementInteractions: as in a form, Enter in a field confirms */}
        <div
          className="text"
          onKeyDown={({ key, target }) => {
            if (key === "Enter" && !question.grave && target instanceof HTMLInputElement) run();
          }}
        >
          {question.text}
        </div>
        <ProblemBox error={action.error} />
      </SpaceBetween>
    </Modal>
  );
}
