// Copy and Keep, at the end of the tab bar; Export… too where no bar stands above.

import { useEffect, useRef, useState } from "react";
import { Button } from "../components/button";
import { Told } from "../components/inputs";
import { copyText } from "../view/copy";
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
    <div className="dra-row dra-tools-right">
      <Told>{told}</Told>
      <Button icon="copy" onClick={() => void copy()}>
        Copy
      </Button>
      <Button
        icon="pin"
        disabled={isFull}
        title={isFull ? "Twelve plans are kept; remove one in Compare" : "Keep this plan for Compare"}
        onClick={() => channel.send({ type: "keep-for-compare" })}
      >
        {kept > 0 ? `Keep (${kept})` : "Keep"}
      </Button>
      {!hasBar && (
        <Button icon="folder" onClick={() => channel.send({ type: "show-export" })}>
          Export…
        </Button>
      )}
    </div>
  );
}
