import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Modal from "@cloudscape-design/components/modal";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { type ReactNode, useState } from "react";
import { ProblemBox } from "./ProblemBox";

export interface Question {
  header: string;
  /** What will be done, with numbers. */
  text: ReactNode;
  /** The verb on the button. */
  action: string;
  run(): Promise<void>;
}

/** Asks before something is lost or many things change: `ask({...})`, and the modal to be drawn. A failure is shown in
 * the modal, which stays open.
 */
export function useConfirm(): { ask(question: Question): void; modal: ReactNode } {
  const [question, setQuestion] = useState<Question | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const close = () => {
    setQuestion(null);
    setError(null);
  };
  const run = async () => {
    setBusy(true);
    setError(null);
    try {
      await question?.run();
      close();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const modal = question && (
    <Modal
      visible
      header={question.header}
      onDismiss={close}
      footer={
        <Box float="right">
          <SpaceBetween direction="horizontal" size="xs">
            <Button variant="link" onClick={close}>
              Cancel
            </Button>
            <Button variant="primary" loading={busy} onClick={() => void run()}>
              {question.action}
            </Button>
          </SpaceBetween>
        </Box>
      }
    >
      <SpaceBetween size="m">
        <div className="text">{question.text}</div>
        <ProblemBox error={error} />
      </SpaceBetween>
    </Modal>
  );
  return { ask: setQuestion, modal };
}
