// The button that counts findings by severity, and its panel that lists them.
import { FindingsList } from "../view/findings_list";
import { Icon } from "../view/icon";
import { usePopover } from "../view/use_popover";
import { useTrait } from "./model";

const SEVERITIES = ["error", "warning", "note"] as const;

export function useFindings() {
  const [counts, findings] = [useTrait("counts"), useTrait("findings")];
  const over = usePopover();
  const some = SEVERITIES.filter((severity) => counts[severity]);
  const words = some.map((severity) => `${counts[severity]} ${severity}${counts[severity] === 1 ? "" : "s"}`);
  // "None" is an answer: as long as nobody has looked, it is not given.
  if (counts.checking) words.push("still being checked");
  const button = (
    <button
      {...over.button}
      className="dra-button dra-findings-button"
      aria-label={`Findings: ${words.join(", ") || "none"}`}
      title={words.join(", ") || "no findings"}
    >
      Findings
      {some.map((severity) => (
        <span key={severity} className="dra-badge" data-severity={severity}>
          <Icon name={severity} />
          {String(counts[severity])}
        </span>
      ))}
      {!some.length && (
        <span className="dra-badge" data-severity="none">
          <Icon name={counts.checking ? "dots" : "check"} />
        </span>
      )}
    </button>
  );
  const nothing = counts.checking
    ? "dra-lab is still checking the cluster."
    : "No findings: the cluster publishes what it should.";
  const panel = (
    <div {...over.panel} role="dialog" className="dra-popover dra-findings-panel" aria-label="Findings">
      <h3>Findings</h3>
      <FindingsList findings={findings} nothing={nothing} />
    </div>
  );
  return { button, panel };
}
