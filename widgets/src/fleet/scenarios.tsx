// The present answer beside the kept ones.

import { useChannel, useTrait } from "../plan/model";
import { Icon } from "../view/icon";
import { keyed } from "../view/keyed";
import { Head } from "./head";
import { useMenu } from "./menu";

/** `11 of 13` is short; a number that differs from the present one is marked. */
function markOf(cell: string, present: string | undefined): string {
  const [head, all] = cell.split(" of ");
  if (all !== undefined && all !== head) return "is-short";
  return cell === present ? "" : "is-other";
}

export function Scenarios() {
  const channel = useChannel();
  const menu = useMenu();
  const { columns = [], rows = [] } = useTrait("fleet_scenarios");
  const { canCompare = false, stale = false } = useTrait("fleet_answer");
  const hasKept = rows.some((row) => row.kept);
  if (!rows.length) return null;
  const now = rows.find((row) => row.now);
  return (
    <section className="dra-fleet-part" aria-label="Scenarios">
      <h3>Scenarios</h3>
      <div className="dra-fleet-wide">
        <table className="dra-fleet-table">
          <thead>
            <tr>
              <th scope="col">scenario</th>
              {columns.map((column) => (
                <th key={column} scope="col">
                  <Head word={column} />
                </th>
              ))}
              <th scope="col">
                <span className="dra-sr">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {keyed(rows, (row) => row.name).map(([key, row]) => (
              <tr key={key} className={row.now ? "is-now" : ""} title={row.title || undefined}>
                <th scope="row">{row.name}</th>
                {(row.cells ?? []).map((cell, at) => (
                  <td key={columns[at]} className={markOf(cell, now?.cells?.[at])}>
                    {cell}
                  </td>
                ))}
                <td>
                  {row.kept && (
                    <button
                      type="button"
                      className="dra-quiet"
                      aria-label={`Actions for ${row.name}`}
                      aria-haspopup="menu"
                      onClick={(event) =>
                        menu(event, row.name, [
                          { label: "Restore", act: () => channel.send({ type: "restore-scenario", name: row.name }) },
                          { label: "Remove", act: () => channel.send({ type: "forget-scenario", name: row.name }) },
                        ])
                      }
                    >
                      <Icon name="dots" />
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div className="dra-fleet-buttons">
        <button
          type="button"
          className="dra-button"
          disabled={stale}
          onClick={() => channel.send({ type: "keep-scenario" })}
        >
          Keep as scenario
        </button>
        {canCompare && (
          <button
            type="button"
            className="dra-button"
            disabled={!hasKept}
            onClick={() => channel.send({ type: "compare-plans" })}
          >
            Compare…
          </button>
        )}
      </div>
    </section>
  );
}
