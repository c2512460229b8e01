// Every button: its kind is how it looks, its label is what a screen reader says in place of its text.
import type { ComponentProps } from "react";
import { Icon, type IconName } from "../view/icon";
import { classes } from "./classes";

const KINDS = {
  plain: "dra-button",
  primary: "dra-button is-primary",
  /** Text that acts. */
  link: "dra-bare dra-link",
  /** An icon without a frame. */
  quiet: "dra-bare dra-quiet",
  /** A button that its place draws: a card, a tile, a row. */
  bare: "dra-bare",
} as const;

export interface ButtonProps extends ComponentProps<"button"> {
  kind?: keyof typeof KINDS;
  icon?: IconName | undefined;
  label?: string | undefined;
  pressed?: boolean | undefined;
}

export function Button({ kind = "plain", icon, label, pressed, className, children, ...others }: ButtonProps) {
  return (
    <button
      type="button"
      className={classes(KINDS[kind], className)}
      aria-label={label}
      aria-pressed={pressed}
      {...others}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}
