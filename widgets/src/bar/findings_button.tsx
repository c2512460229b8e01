// The button that counts findings by severity, and its panel that lists them.
import { Button } from "../components/button";
import { Popover } from "../components/popover";
import { FindingsList } from "../view/findings_list";
import { Icon } from "../view/icon";
import { usePopover } from "../view/use_popover";
import { useTrait } from "./model";

const SEVERITIES = ["error", "warning", "note"] as const;
const TONES = { error: "error", warning: "warn", note: "plain" } as const;

export function useFindings() {
  const [counts, findings] = [useTrait("counts"), useTrait("findings")];
  const over = usePopover();
  const some = SEVERITIES.filter((severity) => counts[severity]);
  const words = some.map((severity) => `${counts[severity]} ${severity}${counts[severity] === 1 ? "" : "s"}`);
  // "None" is an answer: as long as nobody has looked, it is not given.
  if (counts.checking) words.push("still being checked");
  const button = (
    <Button
      className="dra-findings-button"
      {...over.button}
      label={`Findings: ${words.join(", ") || "none"}`}
      title={words.join(", ") || "no findings"}
    >
      Findings
      {some.map((severity) => (
        <span key={severity} className="dra-row dra-toned" data-tone={TONES[severity]}>
          <Icon name={severity} />
          {String(counts[severity])}
        </span>
      ))}
      {!some.length && (
        <span className="dra-row dra-toned" data-tone="ok">
          <Icon name={counts.checking ? "dots" : "check"} />
        </span>
      )}
    </Button>
  );
  const nothing = counts.checking
    ? "dra-lab is still checking the cluster."
    : "No findings: the cluster publishes what it should.";
  const panel = (
    <Popover over={over} title="Findings" className="dra-findings-panel">
      <FindingsList findings={findings} nothing={nothing} />
    </Popover>
  );
  return { button, panel };
}
