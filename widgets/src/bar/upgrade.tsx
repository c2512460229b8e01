// What an upgrade of Kubernetes changes, above the findings: a release is chosen, and its answer follows.

import { Button } from "../components/button";
import { Callout, FindingsList, Working } from "../components/content";
import { optionsOf, Select } from "../components/inputs";
import { keyed } from "../view/text";
import { useChannel, useTrait } from "./model";

/** `upgrades` are the releases that are newer than the present one; without one there is nothing to ask. */
export function Upgrade() {
  const channel = useChannel();
  const [answer, releases] = [useTrait("upgrade"), useTrait("upgrades")];
  const { version = "", working, problem, sentence, compared, stops, old, changes = [] } = answer;
  if (!releases.length) return null;
  const choose = (chosen: string) => channel.send({ type: "check-upgrade", version: chosen });
  return (
    <section className="dra-stack dra-upgrade" aria-label="Upgrade of Kubernetes">
      <label className="dra-row">
        <b>Before an upgrade to</b>
        <Select
          label="Kubernetes release of the upgrade"
          value={version}
          options={optionsOf([["", "choose a release"], ...releases])}
          onChoose={choose}
        />
      </label>
      <div role="status">
        {working && (
          <Working words={working}>
            <Button kind="link" send={{ type: "cancel-upgrade" }}>
              Cancel
            </Button>
          </Working>
        )}
        {problem && <Callout tone="error">{problem}</Callout>}
        {sentence && <Callout tone={stops ? "error" : changes.length ? "warn" : "ok"} text={sentence} />}
      </div>
      {old && sentence && (
        <p className="dra-hint">
          The cluster or the drawing has changed since.{" "}
          <Button kind="link" onClick={() => choose(version)}>
            Check again
          </Button>
        </p>
      )}
      {compared && <p className="dra-hint">{compared}</p>}
      {keyed(changes, (row) => row.heading).map(([key, row]) => (
        <details key={key} open>
          <summary>
            {row.heading} ({row.total.toLocaleString("en")})
          </summary>
          <FindingsList findings={row.findings} nothing="" />
          {row.findings.length < row.total && (
            <p className="dra-hint">The first {row.findings.length}. The command dra-lab check --upgrade lists all.</p>
          )}
        </details>
      ))}
    </section>
  );
}
