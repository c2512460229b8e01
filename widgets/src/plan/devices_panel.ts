// Every device as a row; those that are chosen carry their request's letter.
import type { PlanViewModel } from "../generated/models";
import { h } from "../view/dom";
import type { Light } from "../view/light";
import type { Sync } from "../view/sync";
import { type Row, Table } from "../view/table";

export function devicesPanel(sync: Sync<PlanViewModel>, light: Light): { root: HTMLElement; shown: () => void } {
  const caption = h("span.dra-hint");
  const place = h("div.dra-table-place");
  let table: Table | null = null;
  let columns = "";
  const request = (id: string) => sync.get("chosen")[id];
  const letter = (row: Row, column: number): Node | string => {
    const name = column === 0 ? request(row.id) : undefined;
    if (name === undefined) return row.cells[column] ?? "";
    const badge = sync.get("badges")[name];
    const mark = h("span.dra-letter", { title: `chosen for request ${name}` }, badge?.letter ?? "?");
    if (badge && /^#[0-9a-f]{3,8}$/i.test(badge.colour) && /^#[0-9a-f]{3,8}$/i.test(badge.textColour)) {
      mark.style.cssText = `--dra-badge:${badge.colour};--dra-on-badge:${badge.textColour}`;
    }
    return h("span", {}, mark, ` ${name}`);
  };
  const relight = () => {
    const chosen = Object.entries(sync.get("chosen"))
      .filter(([, name]) => name === light.now)
      .map(([id]) => id);
    table?.light(new Set([light.now, ...chosen].filter(Boolean)));
  };
  sync.watch(["devices", "chosen", "badges"], () => {
    const devices = sync.get("devices");
    const names = ["chosen for", ...(devices.columns ?? [])];
    if (!table || names.join("\n") !== columns) {
      columns = names.join("\n");
      table = new Table({
        label: "Devices",
        columns: names,
        note: caption,
        cell: letter,
        pick: (row) => light.point(row.id),
        point: (row) => light.point(row?.id ?? ""),
      });
      place.replaceChildren(table.root);
    }
    caption.textContent = devices.caption ? `Shown: ${devices.caption}.` : "";
    const ids = devices.ids ?? [];
    const rows = (devices.rows ?? []).map((cells, i) => ({
      id: ids[i] ?? String(i),
      cells: [request(ids[i] ?? "") ?? "", ...cells],
    }));
    // What is chosen comes first, so that it is seen without a scroll.
    table.fill([...rows.filter((row) => row.cells[0]), ...rows.filter((row) => !row.cells[0])]);
    relight();
  });
  light.onChange(relight);
  return { root: h("div.dra-devices", {}, place), shown: () => table?.paint() };
}
