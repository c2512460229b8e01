// What a person must know of a change.
import { useEffect, useState } from "react";
import { Button } from "../components/button";
import { Callout } from "../components/callout";
import { useCanvas } from "./editor";

interface NoticeText {
  text: string;
  /** It is about a change that was made. */
  isUndoable: boolean;
}
/** Milliseconds that such a message stays. */
const READING = 15000;

export type Tell = (notice: NoticeText | null) => void;

/** A message that goes by itself. */
export function useNotice(): [NoticeText | null, Tell] {
  const [notice, setNotice] = useState<NoticeText | null>(null);
  useEffect(() => {
    const timer = notice && setTimeout(() => setNotice(null), READING);
    return () => clearTimeout(timer ?? undefined);
  }, [notice]);
  return [notice, setNotice];
}

export function Notice({ text, isUndoable, onClose }: NoticeText & { onClose(): void }) {
  const { undo } = useCanvas();
  const takeBack = () => {
    undo();
    onClose();
  };
  return (
    <Callout className="dra-banner is-notice" role="status" onHide={onClose}>
      <span>{text}</span>
      {isUndoable && <Button onClick={takeBack}>Undo</Button>}
    </Callout>
  );
}
