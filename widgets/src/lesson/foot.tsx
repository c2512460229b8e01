// Under the lesson: its words, the manifest once the drawing is checked, and that the drawing is the student's own.

import { type ReactNode, useState } from "react";
import { Button } from "../components/button";
import { useTrait } from "./model";
import { Line } from "./text";

export function Foot() {
  const [terms, yaml, saved, kind] = [useTrait("terms"), useTrait("yaml"), useTrait("saved"), useTrait("task").kind];
  const [open, setOpen] = useState("");
  const panels: Record<string, ReactNode> = {};
  if (terms.length) {
    panels["Words in this lesson"] = (
      <dl>
        {terms.map(({ word, meaning }) => (
          <div key={word}>
            <dt>{word}</dt>
            <dd>
              <Line text={meaning} />
            </dd>
          </div>
        ))}
      </dl>
    );
  }
  if (yaml) panels["YAML of your drawing"] = <pre>{yaml}</pre>;
  const shown = panels[open];
  const isDrawn = kind === "draw" || kind === "check";
  return (
    <footer className="dra-lesson-foot">
      {shown && (
        <div id="dra-lesson-panel" className="dra-lesson-panel" role="region" aria-label={open} tabIndex={0}>
          {shown}
        </div>
      )}
      <div className="dra-row dra-lesson-tabs">
        {Object.keys(panels).map((name) => (
          <Button
            kind="link"
            key={name}
            aria-expanded={open === name}
            onClick={() => setOpen(open === name ? "" : name)}
          >
            {name}
          </Button>
        ))}
        <span className="dra-gap" />
        {isDrawn && !yaml && <span>Fit and YAML appear when you check.</span>}
        {isDrawn && saved && <span>{saved}</span>}
      </div>
    </footer>
  );
}
