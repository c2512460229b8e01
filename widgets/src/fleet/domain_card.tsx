// The domain that is chosen: what it holds step by step, its nodes, and what would make it hold the gang.
import { useChannel, useTrait } from "../plan/model";
import { Bars as TestBars } from "../plan/why_not";
import { Icon } from "../view/icon";
import { keyed } from "../view/keyed";
import { Boxes } from "./boxes";

export function DomainCard() {
  const channel = useChannel();
  const { id = "", title = "", lines = [], bars = [], fixes = [], boxes = [] } = useTrait("fleet_domain_card");
  if (!id) return null;
  return (
    <div className="dra-domain-cards">
      <section className="dra-fleet-card" aria-label={title}>
        <div className="dra-fleet-head dra-domain-head">
          <h3>{title}</h3>
          <button
            type="button"
            className="dra-quiet"
            aria-label={`Close ${title}`}
            onClick={() => channel.set({ fleet_domain: "" })}
          >
            <Icon name="cross" />
          </button>
        </div>
        {bars.map((row) => (
          <TestBars key={row.title} row={row} />
        ))}
        {keyed(lines).map(([key, line]) => (
          <p key={key}>{line}</p>
        ))}
        {boxes.length > 1 && boxes.length <= 80 && <Boxes rows={boxes} isNamed />}
      </section>
      {fixes.length > 0 && (
        <section className="dra-fleet-card" aria-label="What would make it fit">
          <h3>What would make it fit</h3>
          <ul className="dra-would-fit">
            {fixes.map((fix) => (
              <li key={fix.title}>
                <b>{fix.title}</b>
                <span className="dra-dim">{fix.brings}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}
