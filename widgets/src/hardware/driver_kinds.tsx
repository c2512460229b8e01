// The kinds of the node's drivers that dra_lab has no data file for: corrected here, and kept in a profile file.
import { useRef, useState } from "react";
import type { DriverKindRow } from "../generated/models";
import { copyText, selectAll } from "../view/copy";
import { Icon } from "../view/icon";
import { saveText } from "../view/save_text";
import { usePopover } from "../view/use_popover";
import { useChannel, useTrait } from "./model";

const KINDS = [
  ["gpu", "GPU or other accelerator"],
  ["nic", "NIC"],
  ["cpu", "CPU"],
  ["memory", "memory"],
  ["other", "other"],
];

export function DriverKinds() {
  const rows = useTrait("kinds") ?? [];
  const menu = usePopover();
  const guesses = rows.filter((row) => row.guessed).length;
  const title = "The kinds of drivers that dra_lab does not know";
  return (
    <>
      <button {...menu.button} className="dra-button" hidden={!rows.length} aria-label="Kinds" title={title}>
        <Icon name={guesses ? "warning" : "note"} />
        <span className="dra-word">Kinds{guesses > 0 && " (guessed)"}</span>
        <Icon name="down" />
      </button>
      <div {...menu.panel} className="dra-popover dra-driver-kinds" role="dialog" aria-label={title}>
        <p className="dra-hint">
          dra_lab does not know these drivers. The kind decides goals and pictures, never which devices match.
        </p>
        {rows.map((row) => (
          <DriverKind key={row.driver} row={row} />
        ))}
      </div>
    </>
  );
}

function DriverKind({ row }: { row: DriverKindRow }) {
  const channel = useChannel();
  const text = useRef<HTMLPreElement>(null);
  const [told, setTold] = useState("");
  const file = `${row.driver.replace(/[^A-Za-z0-9._-]+/g, "-")}.yaml`;
  const profile = row.profile ?? "";
  const copy = async () => setTold(await copyText(profile, () => text.current && selectAll(text.current)));
  const save = () => {
    saveText(file, profile);
    setTold(`Saved as ${file}`);
  };
  const choose = (kind: string) => {
    setTold("");
    channel.send({ type: "set-kind", driver: row.driver, kind });
  };
  return (
    <section aria-label={row.driver}>
      <label>
        <b>{row.driver}</b>
        <select
          className="dra-button"
          data-key={`kind-${row.driver}`}
          value={row.kind}
          onChange={(event) => choose(event.currentTarget.value)}
        >
          {!row.kind && <option value="">by attribute</option>}
          {KINDS.map(([kind, words]) => (
            <option key={kind} value={kind}>
              {row.guessed && kind === row.kind ? `${words} (guessed)` : words}
            </option>
          ))}
        </select>
      </label>
      <p className="dra-hint">To keep the kind, save this profile and give it with --profiles or Lab(drivers=...):</p>
      <pre ref={text} tabIndex={0}>
        {profile}
      </pre>
      <span className="dra-driver-tools">
        <button type="button" className="dra-button" data-key={`copy-${row.driver}`} onClick={copy}>
          <Icon name="copy" />
          Copy
        </button>
        <button type="button" className="dra-button" data-key={`save-${row.driver}`} onClick={save}>
          <Icon name="file" />
          Save {file}
        </button>
        <span className="dra-hint" role="status">
          {told}
        </span>
      </span>
    </section>
  );
}
