// The files of an export, and one of them beside the file on disk.
import { useRef, useState } from "react";
import type { ExportRow, FileRow } from "../generated/models";
import { useTrait } from "../plan/model";
import { copyText, selectAll } from "../view/copy";
import { Term } from "../view/figure";
import { keyed } from "../view/keyed";
import { saveText } from "../view/save_text";

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
  if (!shown) return <div className="dra-sheet-right" />;
  const copy = async () => setTold(await copyText(textOf(shown), () => code.current && selectAll(code.current)));
  const lines = (shown.lines ?? []).filter((line) => !whole || !line.startsWith("-"));
  return (
    <div className="dra-sheet-right">
      <div className="dra-row dra-files-title">
        <h3>
          {files.length === 1 ? "1 file" : `${files.length} files`} in {row.choice.folder || "manifests"}
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
            <button
              type="button"
              className="dra-file"
              aria-pressed={file === shown}
              onClick={() => {
                setName(file.name);
                setTold("");
              }}
            >
              <code>{file.name}</code>
              <span data-state={file.state}>{WORDS[file.state]}</span>
              <span className="dra-file-counts">
                {file.state === "unchanged" ? "" : `+${file.added ?? 0} −${file.removed ?? 0}`}
              </span>
            </button>
          </li>
        ))}
      </ul>
      <div className="dra-row dra-file-head">
        <b>{shown.name}</b>
        <span className="dra-gap" />
        <span className="dra-told" role="status">
          {told}
        </span>
        <fieldset className="dra-toggle">
          <legend className="dra-sr">View of the file</legend>
          {[false, true].map((all) => (
            <label key={String(all)}>
              <input type="radio" checked={whole === all} onChange={() => setWhole(all)} />
              <span>{all ? "Whole file" : "Diff"}</span>
            </label>
          ))}
        </fieldset>
        <button type="button" className="dra-button" disabled={!shown.lines?.length} onClick={() => void copy()}>
          Copy
        </button>
        <button
          type="button"
          className="dra-button"
          disabled={!shown.lines?.length}
          onClick={() => saveText(shown.name, textOf(shown))}
        >
          Download
        </button>
      </div>
      {shown.fragment && <p className="dra-hint">Merge this part into Kueue's Configuration; do not apply it.</p>}
      <div ref={code} className="dra-diff" role="region" aria-label={`Text of ${shown.name}`} tabIndex={0}>
        {keyed(lines).map(([key, line]) => (
          <div key={key} className="dra-diff-line" data-sign={whole ? " " : line[0]}>
            <span className="dra-diff-sign" aria-hidden="true">
              {whole || line[0] === " " ? "" : line[0]}
            </span>
            {!whole && SIGNS[line[0] ?? ""] && <span className="dra-sr">{SIGNS[line[0] ?? ""]}: </span>}
            {line.slice(1)}
          </div>
        ))}
        {lines.length === 0 && <p className="dra-dim">A picture; it is written with the other files.</p>}
        {(shown.cut ?? 0) > 0 && <p className="dra-dim">{shown.cut} more lines are not shown.</p>}
      </div>
    </div>
  );
}
