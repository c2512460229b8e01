// A framed part of a pane with its heading.
import type { ComponentProps, ReactNode } from "react";
import { classes } from "./classes";

interface Props extends ComponentProps<"section"> {
  title: string;
  /** What stands at the end of the line of the heading. */
  tools?: ReactNode;
}

export function Card({ title, tools, className, children, ...others }: Props) {
  return (
    <section className={classes("dra-card", className)} aria-label={title} {...others}>
      {tools ? (
        <div className="dra-row">
          <h3>{title}</h3>
          <span className="dra-gap" />
          {tools}
        </div>
      ) : (
        <h3>{title}</h3>
      )}
      {children}
    </section>
  );
}
