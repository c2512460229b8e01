// The foot of the Export sheet: what a person accepts, and the buttons that write and copy.

import { useState } from "react";
import { Button } from "../components/button";
import { Callout } from "../components/callout";
import { Check, Told } from "../components/inputs";
import type { ExportRow } from "../generated/models";
import { useChannel, useTrait } from "../plan/model";
import { copyText } from "../view/copy";
import { counted } from "../view/words";
import { textOf } from "./files";

export function Write({ row }: { row: ExportRow }) {
  const channel = useChannel();
  const problem = useTrait("problem");
  const [overwrite, setOverwrite] = useState(false);
  const [told, setTold] = useState("");
  const { files = [], written = [], worse = "" } = row;
  const kept = files.filter((file) => file.state !== "removed");
  const edited = files.filter((file) => file.state === "edited").length;
  const removed = files.length - kept.length;
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
    });
    // Accepted once: the next edit is found again.
    setOverwrite(false);
  };
  const copyAll = async () => {
    const applied = kept.filter((file) => !file.fragment && file.name !== "kustomization.yaml");
    const texts = applied.filter((file) => /\.(ya?ml|json)$/.test(file.name));
    setTold(await copyText(texts.map(textOf).join("---\n"), () => undefined));
  };
  return (
    <footer className="dra-row dra-sheet-foot">
      <div className="dra-sheet-words" role="status">
        {problem ? (
          <p className="dra-wrong">{problem}</p>
        ) : written.length > 0 ? (
          <p className="dra-good">
            Written: {counted(written.length - 1, "file")}, and {written.at(-1)} as the record.
          </p>
        ) : (
          !worse && (
            <p className="dra-dim">Valid for {row.choice.release}. Nothing is written until you press Export.</p>
          )
        )}
        {worse && (
          <Callout tone="warn">
            <span>
              {row.gang ? "" : "These manifests do not achieve the plan. "}
              {worse}
            </span>
          </Callout>
        )}
      </div>
      {asked.length > 0 && (
        <Check checked={overwrite} onTurn={setOverwrite}>
          {asked.join(". ")}
        </Check>
      )}
      <Told>{told}</Told>
      <Button disabled={!isReady} onClick={() => void copyAll()}>
        Copy all
      </Button>
      <Button kind="primary" disabled={!isReady} onClick={write}>
        {worse ? "Export anyway" : `Export ${counted(kept.length, "file")}`}
      </Button>
    </footer>
  );
}
