// The kinds of the node's drivers that dra_lab has no data file for: corrected here, and kept in a profile file.

import { useRef, useState } from "react";
import { Button } from "../components/button";
import { optionsOf } from "../components/choice";
import { Select } from "../components/inputs";
import { Popover } from "../components/popover";
import type { DriverKindRow } from "../generated/models";
import { copyText, selectAll } from "../view/copy";
import { Icon } from "../view/icon";
import { saveText } from "../view/save_text";
import { usePopover } from "../view/use_popover";
import { useChannel, useTrait } from "./model";

const BY_ATTRIBUTE = { value: "", label: "by attribute" };
const KINDS = optionsOf([
  ["gpu", "GPU or other accelerator"],
  ["nic", "NIC"],
  ["cpu", "CPU"],
  ["memory", "memory"],
  ["other", "other"],
]);

export function DriverKinds() {
  const rows = useTrait("kinds") ?? [];
  const menu = usePopover();
  const guesses = rows.filter((row) => row.guessed).length;
  const title = "The kinds of drivers that dra_lab does not know";
  return (
    <>
      <Button icon={guesses ? "warning" : "note"} {...menu.button} hidden={!rows.length} label="Kinds" title={title}>
        <span className="dra-word">Kinds{guesses > 0 && " (guessed)"}</span>
        <Icon name="down" />
      </Button>
      <Popover over={menu} title={title} isBare className="dra-driver-kinds">
        <p className="dra-hint">
          dra_lab does not know these drivers. The kind decides goals and pictures, never which devices match.
        </p>
        {rows.map((row) => (
          <DriverKind key={row.driver} row={row} />
        ))}
      </Popover>
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
  const kinds = KINDS.map((one) =>
    row.guessed && one.value === row.kind ? { ...one, label: `${one.label} (guessed)` } : one,
  );
  return (
    <section className="dra-stack" aria-label={row.driver}>
      <label className="dra-row">
        <b>{row.driver}</b>
        <Select
          data-key={`kind-${row.driver}`}
          value={row.kind}
          options={[...(row.kind ? [] : [BY_ATTRIBUTE]), ...kinds]}
          onChoose={choose}
        />
      </label>
      <p className="dra-hint">To keep the kind, save this profile and give it with --profiles or Lab(drivers=...):</p>
      <pre ref={text} tabIndex={0}>
        {profile}
      </pre>
      <span className="dra-row">
        <Button icon="copy" data-key={`copy-${row.driver}`} onClick={copy}>
          Copy
        </Button>
        <Button icon="file" data-key={`save-${row.driver}`} onClick={save}>
          Save {file}
        </Button>
        <span className="dra-hint" role="status">
          {told}
        </span>
      </span>
    </section>
  );
}
