// The heat map: a cell for each rack, the darker the larger the part of its devices that is stranded.
import type { CSSProperties } from "react";
import { useChannel, useTrait } from "../plan/model";
import { onArrows } from "../view/keys";

const onCellArrows = onArrows("button");

export function Heat() {
  const channel = useChannel();
  const { word = "", cells = [] } = useTrait("fleet_heat");
  const { kind = "", kinds = [], many = false } = useTrait("fleet_bars");
  const chosen = useTrait("fleet_chosen");
  if (!many || !cells.length) return null;
  const label = kinds.find(([key]) => key === kind)?.[1] ?? "devices";
  const most = Math.max(0, ...cells.map(([, , stranded]) => stranded));
  return (
    <section className="dra-fleet-part" aria-label={`Stranded ${label} by ${word}`}>
      <h3>
        Stranded {label} by {word}
      </h3>
      <div className="dra-fleet-heat" role="group" aria-label={`${cells.length} ${word}`} onKeyDown={onCellArrows}>
        {cells.map(([id, name, stranded, all]) => {
          const words = `${name}: ${stranded.toLocaleString("en")} of ${all.toLocaleString("en")} ${label} stranded`;
          return (
            <button
              key={id}
              type="button"
              aria-label={words}
              title={words}
              aria-pressed={id === chosen}
              style={{ "--dra-heat": `${most ? Math.round((100 * stranded) / most) : 0}%` } as CSSProperties}
              onClick={() => channel.set({ fleet_chosen: id === chosen ? "" : id })}
            />
          );
        })}
      </div>
      <p className="dra-dim">
        {cells.length.toLocaleString("en")} {word}. White: none stranded. Darkest: {most.toLocaleString("en")}. Click
        one for its nodes.
      </p>
    </section>
  );
}
