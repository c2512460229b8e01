// The Export sheet: what would be written, what kube-scheduler does with it, and the write.

import { useRef, useState } from "react";
import { Button, CopyButton } from "../components/button";
import { Callout, FindingsList, type Tone, Working } from "../components/content";
import { Dialog } from "../components/dialog";
import { Check, Choice, optionsOf, Switch } from "../components/inputs";
import { Term } from "../components/popover";
import type { ExportRow, FileRow, Simulation } from "../generated/models";
import { useChannel, useTrait } from "../plan/model";
import { counted, keyed, saveText, selectAll } from "../view/text";
import { GangSettings, Measure, PinnedDomain, Settings } from "./settings";

// The files of an export, and one of them beside the file on disk.
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
const textOf = (file: FileRow): string =>
  (file.lines ?? [])
    .filter((line) => !line.startsWith("-"))
    .map((line) => `${line.slice(1)}\n`)
    .join("");

/** Which files a person takes. */
interface Taking {
  /** The names of files that are left out. */
  readonly left: ReadonlySet<string>;
  /** Whether files that are the same in the folder are left out too. */
  readonly onlyChanged: boolean;
}

/** The files that are listed, and those of them that are taken. */
function takenOf(files: readonly FileRow[], { left, onlyChanged }: Taking) {
  const listed = files.filter((file) => !onlyChanged || file.state !== "unchanged");
  return { listed, taken: listed.filter((file) => !left.has(file.name)) };
}

interface FilesProps {
  row: ExportRow;
  taking: Taking;
  onTake(taking: Taking): void;
}

function Files({ row, taking, onTake }: FilesProps) {
  const [name, setName] = useState("");
  const terms = useTrait("export_terms");
  const all = row.files ?? [];
  const { listed: files, taken } = takenOf(all, taking);
  const shown = files.find((file) => file.name === name) ?? files.find((file) => (file.lines ?? []).length) ?? files[0];
  const turn = (name: string, isOn: boolean) => {
    const others = [...taking.left].filter((one) => one !== name);
    onTake({ ...taking, left: new Set(isOn ? others : [...others, name]) });
  };
  if (!all.length) return <div className="dra-column" />;
  return (
    <div className="dra-column">
      <div className="dra-row">
        <h3>
          {counted(all.length, "file")} in {row.choice.folder || "manifests"}
        </h3>
        <span className="dra-gap" />
        {files.length > 1 && (
          <Check
            checked={taken.length === files.length}
            onTurn={(isOn) => onTake({ ...taking, left: new Set(isOn ? [] : files.map((file) => file.name)) })}
          >
            All files
          </Check>
        )}
        <Check checked={taking.onlyChanged} onTurn={(onlyChanged) => onTake({ ...taking, onlyChanged })}>
          Only changed
        </Check>
        {Object.entries(terms).map(([word, text]) => (
          <span key={word}>
            {MARKS[word]}
            <Term title={word} text={text} />
          </span>
        ))}
      </div>
      {!shown && <p className="dra-nothing">Every file is the same in the folder.</p>}
      <ul className="dra-files" aria-label="Files">
        {files.map((file) => (
          <li key={file.name} className="dra-file-line">
            <Check
              aria-label={`${file.state === "removed" ? "Remove" : "Write"} ${file.name}`}
              checked={!taking.left.has(file.name)}
              onTurn={(isOn) => turn(file.name, isOn)}
            />
            <Button
              kind="bare"
              className="dra-option dra-file"
              pressed={file === shown}
              onClick={() => setName(file.name)}
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
      {shown && <OneFile file={shown} />}
    </div>
  );
}

/** A file: its text beside that in the folder. */
function OneFile({ file }: { file: FileRow }) {
  const [whole, setWhole] = useState(false);
  const code = useRef<HTMLDivElement>(null);
  const lines = (file.lines ?? []).filter((line) => !whole || !line.startsWith("-"));
  return (
    <>
      <div className="dra-row dra-file-head">
        <b>{file.name}</b>
        <span className="dra-gap" />
        <Choice
          label="View of the file"
          options={VIEWS}
          value={whole ? "whole" : "diff"}
          onChoose={(view) => setWhole(view === "whole")}
        />
        <CopyButton
          disabled={!file.lines?.length}
          text={() => textOf(file)}
          select={() => code.current && selectAll(code.current)}
        />
        <Button disabled={!file.lines?.length} onClick={() => saveText(file.name, textOf(file))}>
          Download
        </Button>
      </div>
      {file.fragment && <p className="dra-hint">Merge this part into Kueue's Configuration; do not apply it.</p>}
      <div ref={code} className="dra-diff dra-pane" role="region" aria-label={`Text of ${file.name}`} tabIndex={0}>
        <DiffLines lines={lines} isWhole={whole} />
        {lines.length === 0 && <p className="dra-dim">A picture; it is written with the other files.</p>}
        {(file.cut ?? 0) > 0 && <p className="dra-dim">{file.cut} more lines are not file.</p>}
      </div>
    </>
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

// What kube-scheduler does with the manifests, and the pins with their price.
const toneOf = ({ achieves }: Simulation): Tone => (achieves ? "ok" : achieves === false ? "warn" : "plain");

function Outcome({ row }: { row: ExportRow }) {
  const { stage = "", plain, pinned, pins = [] } = row;
  return (
    <section
      className="dra-card dra-outcome"
      aria-label={row.gang ? "Plan of the gang" : "Simulation of kube-scheduler"}
      data-achieves={plain?.achieves ?? undefined}
    >
      <div role="status">
        {plain && <Verdict outcome={plain} />}
        {row.problem && <p className="dra-wrong">{row.problem}</p>}
        {stage && (
          <Working words={stage}>
            <Button send={{ type: "cancel-export" }}>Cancel</Button>
          </Working>
        )}
      </div>
      {row.gang && <PinnedDomain gang={row.gang} />}
      {pinned && <Pin row={row} pinned={pinned} />}
      {!row.gang && !pinned && !stage && plain?.achieves === false && pins.length === 0 && !row.problem && (
        <p className="dra-outcome-pin dra-dim">No pin was found that makes kube-scheduler allocate this plan.</p>
      )}
    </section>
  );
}

function Verdict({ outcome }: { outcome: Simulation }) {
  return (
    <Callout tone={toneOf(outcome)}>
      <div>
        <b>{outcome.sentence}</b>
        {outcome.detail && <p>{outcome.detail}</p>}
      </div>
    </Callout>
  );
}

function Pin({ row, pinned }: { row: ExportRow; pinned: Simulation }) {
  const channel = useChannel();
  return (
    <div className="dra-outcome-pin">
      <Switch checked={row.pin ?? false} onTurn={(pin) => channel.send({ type: "choose-export", pin })}>
        <b>Pin so that it allocates this plan</b>
      </Switch>
      <Callout tone={toneOf(pinned)} text={`${pinned.sentence} ${row.price ? `Price: ${row.price}.` : ""}`} />
    </div>
  );
}

// The foot of the Export sheet: what a person accepts, and the buttons that write and copy.
function Write({ row, taking }: { row: ExportRow; taking: Taking }) {
  const channel = useChannel();
  const problem = useTrait("problem");
  const [overwrite, setOverwrite] = useState(false);
  const { files = [], written = [], worse = "" } = row;
  const { taken } = takenOf(files, taking);
  const without = files.filter((file) => taking.left.has(file.name));
  const kept = taken.filter((file) => file.state !== "removed");
  const edited = taken.filter((file) => file.state === "edited").length;
  const removed = taken.length - kept.length;
  const asked = [
    ...(edited ? [`Overwrite my edits (${counted(edited, "file")})`] : []),
    ...(removed ? [`Remove ${counted(removed, "file")} of an earlier export`] : []),
  ];
  const isReady = kept.length > 0 && !row.problem;
  const write = () => {
    channel.send({
      type: "write-export",
      ...(overwrite ? { overwrite: true } : {}),
      ...(worse ? { allowWorse: true } : {}),
      ...(without.length ? { without: without.map((file) => file.name) } : {}),
    });
    // Accepted once: the next edit is found again.
    setOverwrite(false);
  };
  const texts = () => {
    const applied = kept.filter((file) => !file.fragment && file.name !== "kustomization.yaml");
    const found = applied.filter((file) => /\.(ya?ml|json)$/.test(file.name));
    return found.map(textOf).join("---\n");
  };
  return (
    <footer className="dra-row dra-ruled dra-sheet-foot">
      <div className="dra-sheet-words dra-gap" role="status">
        {problem ? (
          <p className="dra-wrong">{problem}</p>
        ) : written.length > 0 ? (
          <p className="dra-good">
            Written: {counted(written.length - 1, "file")}, and {written.at(-1)} as the record.
          </p>
        ) : (
          !worse && <p className="dra-dim">Valid for {row.release}. Nothing is written until you press Export.</p>
        )}
        {without.some((file) => file.state !== "unchanged") && (
          <Callout
            tone="warn"
            text={`${counted(without.length, "file")} left out. The folder keeps what it has of them, and the simulation is about all files.`}
          />
        )}
        {worse && <Callout tone="warn" text={row.gang ? worse : `These manifests do not achieve the plan. ${worse}`} />}
      </div>
      {asked.length > 0 && (
        <Check checked={overwrite} onTurn={setOverwrite}>
          {asked.join(". ")}
        </Check>
      )}
      <CopyButton disabled={!isReady} text={texts}>
        Copy all
      </CopyButton>
      <Button kind="primary" disabled={!isReady} onClick={write}>
        {worse ? "Export anyway" : `Export ${counted(kept.length, "file")}`}
      </Button>
    </footer>
  );
}

/** The sheet while it is open. */
export function ExportSheet() {
  const row = useTrait("export");
  return row.choice ? <Sheet row={row} /> : null;
}

function Sheet({ row }: { row: ExportRow }) {
  const channel = useChannel();
  const [taking, setTaking] = useState<Taking>({ left: new Set(), onlyChanged: false });
  const findings = row.findings ?? [];
  return (
    <Dialog
      title="Export"
      words={`${row.name}, planned on ${row.cluster}`}
      onClose={() => channel.send({ type: "close-export" })}
    >
      <Outcome row={row} />
      <div className="dra-split">
        <div className="dra-stack dra-sheet-left">
          {row.gang ? <GangSettings row={row} gang={row.gang} /> : <Settings row={row} />}
          {row.measure && <Measure measure={row.measure} />}
          {findings.length > 0 && (
            <details className="dra-card" open={findings.some((one) => one.severity === "error")}>
              <summary>{counted(findings.length, "finding")} about these manifests</summary>
              <FindingsList findings={findings} nothing="" />
            </details>
          )}
        </div>
        <Files row={row} taking={taking} onTake={setTaking} />
      </div>
      <Write row={row} taking={taking} />
    </Dialog>
  );
}
