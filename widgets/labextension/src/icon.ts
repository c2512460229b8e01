import { LabIcon } from "@jupyterlab/ui-components";

/** A square GPU and a pill-shaped NIC tied by a knot: the shapes that they have on the hardware picture. */
const svgstr = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 22 22">
    <g class="jp-icon3" fill="#616161">
      <path d="M2 2h8v8H2zm2 2v4h4V4z" fill-rule="evenodd"/>
      <rect x="9" y="15" width="12" height="6" rx="3"/>
      <circle cx="15" cy="8" r="2"/>
    </g>
    <path class="jp-icon3" stroke="#616161" fill="none" stroke-width="1.5" d="M10 6.5 13.2 7.5M15 10v5"/>
  </svg>`;

export const icon = new LabIcon({ name: "dra-lab:plan", svgstr });

/** The same for the launcher, whose cards under "Notebook" take an address only; a blue that both themes carry. */
export const iconUrl = `data:image/svg+xml,${encodeURIComponent(svgstr.replaceAll("#616161", "#1e88e5"))}`;
