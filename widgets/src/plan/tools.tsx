// Copy and Keep, at the end of the tab bar; Export… too where no bar stands above.
import { useEffect, useRef, useState } from "react";
import { copyText } from "../view/copy";
import { Icon } from "../view/icon";
import { useChannel, useTrait } from "./model";

/** How long a button says that it was done, in milliseconds. */
const DONE = 2000;
/** Plans that fit side by side. */
const MOST_KEPT = 12;

/** The buttons; `select` marks the text on the screen where the clipboard is barred. */
export function Tools({ select, hasBar }: { select(): void; hasBar: boolean }) {
  const channel = useChannel();
  const [yaml, kept] = [useTrait("yaml"), useTrait("kept")];
  const isFull = kept >= MOST_KEPT;
  const [told, setTold] = useState("");
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async () => {
    setTold(await copyText(yaml, select));
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setTold(""), DONE);
  };
  return (
    <div className="dra-tools-right">
      <span className="dra-told" role="status">
        {told}
      </span>
      <button type="button" className="dra-button" onClick={() => void copy()}>
        <Icon name="copy" />
        Copy
      </button>
      <button
        type="button"
        className="dra-button"
        disabled={isFull}
        title={isFull ? "Twelve plans are kept; remove one in Compare" : "Keep this plan for Compare"}
        onClick={() => channel.send({ type: "keep-for-compare" })}
      >
        <Icon name="pin" />
        {kept > 0 ? `Keep (${kept})` : "Keep"}
      </button>
      {!hasBar && (
        <button type="button" className="dra-button" onClick={() => channel.send({ type: "show-export" })}>
          <Icon name="folder" />
          Export…
        </button>
      )}
    </div>
  );
}
