import type { CSSProperties } from "react";
import type { BadgeRow } from "../generated/models";

/** Only a plain colour may go into a style. */
const colour = (text: string): string => (/^#[0-9a-f]{3,8}$/i.test(text) ? text : "currentColor");

/** The colours of a request's letter, as properties of the style sheet. */
export function badgeStyle(badge: BadgeRow | undefined): CSSProperties | undefined {
  if (!badge) return undefined;
  return { "--dra-badge": colour(badge.colour), "--dra-on-badge": colour(badge.textColour) } as CSSProperties;
}
