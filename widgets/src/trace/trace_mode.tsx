// Trace mode: of a gang the choice of its scheduler, of one pod the search on a node.
import { useTrait } from "../hardware/model";
import { GangPane } from "./gang_pane";
import { TracePane } from "./trace_pane";

export function TraceMode() {
  const [{ name }, isGang] = [useTrait("gang_trace"), useTrait("gang_trace_shown")];
  return name && isGang ? <GangPane /> : <TracePane />;
}
