// The domain that is chosen: what it holds step by step, its nodes, and what would make it hold the gang.
import { Button } from "../components/button";
import { Card } from "../components/card";
import { Lines } from "../components/lines";
import { useChannel, useTrait } from "../plan/model";
import { Bars as TestBars } from "../plan/why_not";
import { Boxes } from "./boxes";

export function DomainCard() {
  const channel = useChannel();
  const { id = "", title = "", lines = [], bars = [], fixes = [], boxes = [] } = useTrait("fleet_domain_card");
  if (!id) return null;
  return (
    <div className="dra-grid dra-domain-cards">
      <Card
        title={title}
        tools={
          <Button
            kind="quiet"
            icon="cross"
            label={`Close ${title}`}
            onClick={() => channel.set({ fleet_domain: "" })}
          />
        }
      >
        {bars.map((row) => (
          <TestBars key={row.title} row={row} />
        ))}
        <Lines lines={lines} />
        {boxes.length > 1 && boxes.length <= 80 && <Boxes rows={boxes} isNamed />}
      </Card>
      {fixes.length > 0 && (
        <Card title="What would make it fit">
          <ul className="dra-stack">
            {fixes.map((fix) => (
              <li key={fix.title}>
                <b>{fix.title}</b> <p className="dra-dim">{fix.brings}</p>
              </li>
            ))}
          </ul>
        </Card>
      )}
    </div>
  );
}
