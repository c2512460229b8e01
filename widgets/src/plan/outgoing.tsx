// What is exported: kind, lines, for which release it is valid, and what kube-scheduler does with it.
import { Button } from "../components/button";
import { Callout } from "../components/callout";
import { Switch } from "../components/inputs";
import { keyed } from "../view/keyed";
import { useChannel, useTrait } from "./model";

export function Outgoing({ onYaml }: { onYaml(): void }) {
  const channel = useChannel();
  const [rows, pin] = [useTrait("outgoing"), useTrait("pin_offer")];
  return (
    <section className="dra-card dra-outgoing" aria-label="What you export">
      <h3>What you export</h3>
      <ul>
        {keyed(rows, (row) => row.text).map(([key, row]) => (
          <li key={key}>
            <Callout tone={row.tone ?? "ok"}>
              <span>{row.text}</span>
            </Callout>
          </li>
        ))}
      </ul>
      {pin.text && (
        <Switch checked={pin.on ?? false} onTurn={(on) => channel.send({ type: "choose-export", pin: on })}>
          <b>Pin so that it allocates this plan.</b> {pin.text}
        </Switch>
      )}
      <div className="dra-row">
        <Button kind="link" onClick={onYaml}>
          Show YAML
        </Button>
        <Button kind="link" onClick={() => channel.send({ type: "show-export" })}>
          Show what you export
        </Button>
      </div>
    </section>
  );
}
