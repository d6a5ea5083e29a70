import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Modal from "@cloudscape-design/components/modal";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { useNotices } from "../app/notices";
import { ProblemBox } from "./ProblemBox";

export interface Question {
  header: string;
  /** The effect of the action, with numbers. */
  text: ReactNode;
  /** The verb on the button. */
  action: string;
  run(): Promise<void>;
}

/** Requests a confirmation before something is lost or many things change: `ask({...})`, and the modal to render. A
 * failure is shown in the modal, which stays open; if it was closed in the meantime, in a notice.
 */
export function useConfirm(): { ask(question: Question): void; modal: ReactNode } {
  const [question, setQuestion] = useState<Question | null>(null);
  // A question that was opened since then stays.
  const close = () => setQuestion((present) => (present === question ? null : present));
  return { ask: setQuestion, modal: question && <Confirmation question={question} close={close} /> };
}

function Confirmation({ question, close }: { question: Question; close(): void }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const notices = useNotices();
  const shown = useRef(true);
  useEffect(() => {
    shown.current = true;
    return () => {
      shown.current = false;
    };
  }, []);
  const run = async () => {
    setBusy(true);
    setError(null);
    try {
      await question.run();
      close();
    } catch (failure) {
      if (shown.current) setError(failure);
      else notices.failed(`“${question.action}” failed`, failure);
    } finally {
      setBusy(false);
    }
  };
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
}
