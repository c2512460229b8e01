// Copy and Write to folder, at the end of the tab bar.
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { copyText } from "../view/copy";
import { Icon } from "../view/icon";
import { onEnter } from "../view/keys";
import { usePopover } from "../view/use_popover";
import { useChannel, useTrait } from "./model";

/** How long a button says that it was done, in milliseconds. */
const DONE = 2000;

/** Returns the buttons and the panel of one; `select` marks the text on the screen where the clipboard is barred. */
export function useTools(select: () => void): { tools: ReactNode; panel: ReactNode } {
  const yaml = useTrait("yaml");
  const [told, setTold] = useState("");
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async () => {
    setTold(await copyText(yaml, select));
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setTold(""), DONE);
  };
  const field = useRef<HTMLInputElement>(null);
  const over = usePopover({ first: () => field.current });
  const tools = (
    <div className="dra-tools-right">
      <span className="dra-told" role="status">
        {told}
      </span>
      <button type="button" className="dra-button" onClick={() => void copy()}>
        <Icon name="copy" />
        Copy
      </button>
      <button {...over.button} className="dra-button">
        <Icon name="folder" />
        Write to folder
      </button>
    </div>
  );
  const panel = (
    <div
      {...over.panel}
      role="dialog"
      className="dra-popover dra-write-panel"
      aria-label="Write the manifests to a folder"
    >
      <WriteForm field={field} />
    </div>
  );
  return { tools, panel };
}

function WriteForm({ field }: { field: { current: HTMLInputElement | null } }) {
  const channel = useChannel();
  const [folder, written, problem] = [useTrait("folder"), useTrait("written"), useTrait("problem")];
  const force = useRef<HTMLInputElement>(null);
  const id = useId();
  useEffect(() => {
    if (field.current) field.current.value = folder;
  }, [field, folder]);
  const send = () => {
    const overwrite = force.current?.checked ? { overwrite: true } : {};
    channel.send({ type: "write", folder: field.current?.value ?? "", ...overwrite });
    // Asked for once: the next change by hand is found again.
    if (force.current) force.current.checked = false;
  };
  return (
    <>
      <label className="dra-hint" htmlFor={id}>
        Folder, seen from the notebook
      </label>
      <div className="dra-row">
        <input
          ref={field}
          className="dra-field"
          id={id}
          type="text"
          spellCheck={false}
          autoComplete="off"
          onKeyDown={onEnter(send)}
        />
        <button type="button" className="dra-button dra-primary" onClick={send}>
          Write
        </button>
      </div>
      <label className="dra-hint dra-force">
        <input ref={force} type="checkbox" />
        Overwrite files that were changed by hand
      </label>
      <div className="dra-written" role="status">
        {problem && <p className="dra-wrong">{problem}</p>}
        {written.length > 0 && (
          <>
            <p className="dra-good">Written:</p>
            <ul>
              {written.map((file) => (
                <li key={file}>
                  <code>{file}</code>
                </li>
              ))}
            </ul>
          </>
        )}
      </div>
    </>
  );
}
