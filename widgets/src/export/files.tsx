// The files of an export, and one of them beside the file on disk.

import { useRef, useState } from "react";
import { Button } from "../components/button";
import { Choice, optionsOf } from "../components/choice";
import { Told } from "../components/inputs";
import type { ExportRow, FileRow } from "../generated/models";
import { useTrait } from "../plan/model";
import { copyText, selectAll } from "../view/copy";
import { Term } from "../view/figure";
import { keyed } from "../view/keyed";
import { saveText } from "../view/save_text";
import { counted } from "../view/words";

const WORDS: Readonly<Record<FileRow["state"], string>> = {
  new: "new",
  changed: "changed",
  unchanged: "unchanged",
  edited: "you edited it",
  removed: "removed",
};
/** What the sign of a line says, for those who do not see it. */
const SIGNS: Readonly<Record<string, string>> = { "+": "added", "-": "removed" };

/** The sign before the number of lines of a word. */
const MARKS: Readonly<Record<string, string>> = { added: "+", removed: "−" };

const VIEWS = optionsOf([
  ["diff", "Diff"],
  ["whole", "Whole file"],
]);

/** The text of a file as it would be written. */
export const textOf = (file: FileRow): string =>
  (file.lines ?? [])
    .filter((line) => !line.startsWith("-"))
    .map((line) => `${line.slice(1)}\n`)
    .join("");

export function Files({ row }: { row: ExportRow }) {
  const [name, setName] = useState("");
  const [whole, setWhole] = useState(false);
  const [told, setTold] = useState("");
  const terms = useTrait("export_terms");
  const code = useRef<HTMLDivElement>(null);
  const files = row.files ?? [];
  const shown = files.find((file) => file.name === name) ?? files.find((file) => (file.lines ?? []).length) ?? files[0];
  if (!shown) return <div className="dra-sheet-right dra-column" />;
  const copy = async () => setTold(await copyText(textOf(shown), () => code.current && selectAll(code.current)));
  const lines = (shown.lines ?? []).filter((line) => !whole || !line.startsWith("-"));
  return (
    <div className="dra-sheet-right dra-column">
      <div className="dra-row dra-files-title">
        <h3>
          {counted(files.length, "file")} in {row.choice.folder || "manifests"}
        </h3>
        <span className="dra-gap" />
        {Object.entries(terms).map(([word, text]) => (
          <span key={word}>
            {MARKS[word]}
            <Term title={word} text={text} />
          </span>
        ))}
      </div>
      <ul className="dra-files" aria-label="Files">
        {files.map((file) => (
          <li key={file.name}>
            <Button
              kind="bare"
              className="dra-option dra-file"
              pressed={file === shown}
              onClick={() => {
                setName(file.name);
                setTold("");
              }}
            >
              <code>{file.name}</code>
              <span className="dra-toned" data-tone={file.state === "edited" ? "warn" : "plain"}>
                {WORDS[file.state]}
              </span>
              <span className="dra-number">
                {file.state === "unchanged" ? "" : `+${file.added ?? 0} −${file.removed ?? 0}`}
              </span>
            </Button>
          </li>
        ))}
      </ul>
      <div className="dra-row dra-file-head">
        <b>{shown.name}</b>
        <span className="dra-gap" />
        <Told>{told}</Told>
        <Choice
          label="View of the file"
          options={VIEWS}
          value={whole ? "whole" : "diff"}
          onChoose={(view) => setWhole(view === "whole")}
        />
        <Button disabled={!shown.lines?.length} onClick={() => void copy()}>
          Copy
        </Button>
        <Button disabled={!shown.lines?.length} onClick={() => saveText(shown.name, textOf(shown))}>
          Download
        </Button>
      </div>
      {shown.fragment && <p className="dra-hint">Merge this part into Kueue's Configuration; do not apply it.</p>}
      <div ref={code} className="dra-diff" role="region" aria-label={`Text of ${shown.name}`} tabIndex={0}>
        <DiffLines lines={lines} isWhole={whole} />
        {lines.length === 0 && <p className="dra-dim">A picture; it is written with the other files.</p>}
        {(shown.cut ?? 0) > 0 && <p className="dra-dim">{shown.cut} more lines are not shown.</p>}
      </div>
    </div>
  );
}

/** The lines of a diff, each with its sign; of a whole file without. */
export function DiffLines({ lines, isWhole = false }: { lines: readonly string[]; isWhole?: boolean }) {
  return keyed(lines).map(([key, line]) => {
    const sign = isWhole ? " " : (line[0] ?? " ");
    return (
      <div key={key} className="dra-diff-line" data-sign={sign}>
        <span className="dra-diff-sign" aria-hidden="true">
          {sign}
        </span>
        {SIGNS[sign] && <span className="dra-sr">{SIGNS[sign]}: </span>}
        {line.slice(1)}
      </div>
    );
  });
}
