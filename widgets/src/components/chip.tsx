// A short text in a round frame; with `onRemove` it can be taken away.
import type { ComponentProps } from "react";
import { Button } from "./button";
import { classes } from "./classes";

interface Props extends ComponentProps<"span"> {
  /** What its cross does, in words. */
  removal?: string;
  onRemove?: (() => void) | undefined;
}

export function Chip({ removal, onRemove, className, children, ...others }: Props) {
  return (
    <span className={classes("dra-chip", className)} {...others}>
      {children}
      {onRemove && <Button kind="quiet" icon="cross" label={removal} onClick={onRemove} />}
    </span>
  );
}
