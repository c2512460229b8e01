// A small picture of a kept plan's node: its PCIe roots with GPUs and NICs, and which of them the plan takes.
import { Bar } from "../components/bar";
import type { ChipRow, ComparedPlan, PlaceRow } from "../generated/models";
import { keyed } from "../view/keyed";

export function Places({ plan }: { plan: ComparedPlan }) {
  const places = plan.places ?? [];
  if (plan.bars?.length) return <FleetBars bars={plan.bars} />;
  if (!places.length)
    return (
      <span className="dra-dim">
        {plan.node
          ? plan.elsewhere
            ? "Kept from another snapshot, which is not loaded."
            : "This node is not loaded."
          : "Does not fit."}
      </span>
    );
  const nodes = new Map<string, PlaceRow[]>();
  for (const place of places) nodes.set(place.numa, [...(nodes.get(place.numa) ?? []), place]);
  return (
    <div className="dra-stack" role="img" aria-label={inWords(plan)}>
      {[...nodes].map(([numa, roots]) => (
        <div key={numa} className="dra-card dra-place-numa">
          <b>{numa ? `NUMA node ${numa}` : "NUMA node not known"}</b>
          <div className="dra-place-roots">
            {roots.map((place) => (
              <div key={place.root} className="dra-place-root">
                <span className="dra-dim">{place.root || "root not known"}</span>
                <div className="dra-row">
                  {keyed(place.chips, (chip) => chip.name).map(([key, chip]) => (
                    <Chip key={key} chip={chip} />
                  ))}
                </div>
              </div>
            ))}
          </div>
        </div>
      ))}
    </div>
  );
}

const PARTS = ["used", "planned", "free", "stranded", "blocked"] as const;
const WORDS = ["in use", "planned", "free", "stranded", "not available"] as const;

/** The devices of a kept fleet, a bar for each kind. */
function FleetBars({ bars }: { bars: NonNullable<ComparedPlan["bars"]> }) {
  return (
    <div className="dra-stack">
      {bars.map(([kind, ...values]) => {
        const said = values.flatMap((value, at) => (value ? [`${value.toLocaleString("en")} ${WORDS[at]}`] : []));
        return (
          <div key={kind}>
            <b>{kind}</b> <span className="dra-dim">{said.join(", ")}</span>
            <Bar parts={PARTS.map((part, at) => ({ key: part, part, size: values[at] ?? 0 }))} />
          </div>
        );
      })}
    </div>
  );
}

const COLOUR = /^#[0-9a-f]{3,8}$/i;

function Chip({ chip }: { chip: ChipRow }) {
  const { letter = "", colour = "", textColour = "" } = chip;
  const isTaken = letter !== "" && COLOUR.test(colour) && COLOUR.test(textColour);
  return (
    <span
      className="dra-device"
      data-kind={chip.kind}
      data-state={isTaken ? "allocated" : chip.state}
      style={isTaken ? { background: colour, color: textColour } : undefined}
      title={`${chip.name}: ${isTaken ? `allocated for ${letter}` : chip.state}`}
    >
      {isTaken && <b>{letter} </b>}
      {chip.name}
    </span>
  );
}

function inWords(plan: ComparedPlan): string {
  const taken = (plan.places ?? []).flatMap((place) => place.chips.filter((chip) => chip.letter));
  const words = taken.map((chip) => `${chip.letter} ${chip.name}`).join(", ");
  return `Devices of ${plan.name} on ${plan.node ?? ""}: ${words || "none"}`;
}

/** What chips and bars mean: pattern and frame tell the states apart, not their colour alone. */
export function PlacesLegend({ plans }: { plans: readonly ComparedPlan[] }) {
  const [hasBars, hasChips] = [plans.some((plan) => plan.bars?.length), plans.some((plan) => plan.places?.length)];
  return (
    <ul className="dra-stack dra-legend">
      {hasChips &&
        LEGEND.map(([state, words, letter]) => (
          <li key={state}>
            <span className="dra-device" data-state={state}>
              <b>{letter}</b>
            </span>
            {words}
          </li>
        ))}
      {hasBars &&
        PARTS.map((part, at) => (
          <li key={part}>
            <span className="dra-swatch dra-fleet-swatch" data-part={part} />
            {WORDS[at]}
          </li>
        ))}
    </ul>
  );
}

const LEGEND = [
  ["allocated", "allocated", "A"],
  ["free", "free", ""],
  ["in use", "in use", ""],
  ["not eligible", "does not match", ""],
] as const;
