// The panel of a button (see use_popover.ts), with its heading.
import type { ReactNode } from "react";
import type { usePopover } from "../view/use_popover";
import { classes } from "./classes";

interface Props {
  over: ReturnType<typeof usePopover>;
  title: string;
  className?: string;
  /** Whether the title is for screen readers alone. */
  isBare?: boolean;
  children: ReactNode;
}

export function Popover({ over, title, className, isBare = false, children }: Props) {
  return (
    <div {...over.panel} role="dialog" className={classes("dra-popover", className)} aria-label={title}>
      {!isBare && <h3>{title}</h3>}
      {children}
    </div>
  );
}
