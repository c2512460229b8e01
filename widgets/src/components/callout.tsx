// A sentence with its sign: that something is well, or wrong, or to be decided.
import type { ComponentProps } from "react";
import { Icon, type IconName } from "../view/icon";
import { Button } from "./button";
import { classes } from "./classes";

export type Tone = "ok" | "plain" | "warn" | "error";
const SIGNS: Readonly<Record<Tone, IconName>> = { ok: "check", plain: "note", warn: "warning", error: "error" };

interface Props extends ComponentProps<"div"> {
  tone?: Tone;
  icon?: IconName | undefined;
  /** Hides it; undefined where it stays. */
  onHide?: (() => void) | undefined;
}

export function Callout({ tone = "plain", icon = SIGNS[tone], onHide, className, children, ...others }: Props) {
  return (
    <div className={classes("dra-callout", className)} data-tone={tone} {...others}>
      <Icon name={icon} />
      {children}
      {onHide && <Button kind="quiet" icon="cross" label="Hide this message" data-key="hide" onClick={onHide} />}
    </div>
  );
}
