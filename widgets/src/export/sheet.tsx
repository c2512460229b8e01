// The Export sheet: what would be written, what kube-scheduler does with it, and the write.
import { Dialog } from "../components/dialog";
import type { ExportRow } from "../generated/models";
import { useChannel, useTrait } from "../plan/model";
import { FindingsList } from "../view/findings_list";
import { counted } from "../view/words";
import { Files } from "./files";
import { GangSettings } from "./gang";
import { Measure } from "./measure";
import { Outcome } from "./outcome";
import { Settings } from "./settings";
import { Write } from "./write";

/** The sheet while it is open. */
export function ExportSheet() {
  const row = useTrait("export");
  return row.choice ? <Sheet row={row} /> : null;
}

function Sheet({ row }: { row: ExportRow }) {
  const channel = useChannel();
  const findings = row.findings ?? [];
  return (
    <Dialog
      title="Export"
      words={`${row.name}, planned on ${row.cluster}`}
      onClose={() => channel.send({ type: "close-export" })}
    >
      <Outcome row={row} />
      <div className="dra-sheet-body">
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
        <Files row={row} />
      </div>
      <Write row={row} />
    </Dialog>
  );
}
