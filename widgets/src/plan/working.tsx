// What is told beside the answer: nothing, why there is none, how far a solve is, what goes on after it.

import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { Button } from "../components/button";
import { Callout } from "../components/callout";
import type { AnswerRow } from "../generated/models";
import { useChannel } from "./model";

/** How long the last answer may look like the present one, in milliseconds. */
const STALE_AFTER = 150;
/** How long something goes on after the answer until it is told, in milliseconds: mostly it is over sooner. */
const AFTER = 500;

export interface Work {
  readonly kind: "" | "trouble" | "solve" | "after";
  readonly words?: string;
}

const NOTHING: Work = { kind: "" };

/** A solve and what goes on after it are told only when they take a while. */
export function useWork(answer: AnswerRow): Work {
  const [work, setWork] = useState(NOTHING);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const { trouble = "", after = "" } = answer;
  const isSolving = !trouble && Boolean(answer.stale || answer.state === "solving");
  useEffect(() => () => clearTimeout(timer.current), []);
  useLayoutEffect(() => {
    clearTimeout(timer.current);
    const later = (next: Work, pause: number) => {
      timer.current = setTimeout(() => setWork(next), pause);
    };
    if (isSolving) {
      const solve: Work = { kind: "solve" };
      setWork((now) => (now.kind === "after" ? solve : now));
      later(solve, STALE_AFTER);
      return;
    }
    setWork(trouble ? { kind: "trouble", words: trouble } : NOTHING);
    if (after && !trouble) later({ kind: "after", words: after }, AFTER);
  }, [trouble, isSolving, after]);
  return work;
}

export function Working({ work, answer }: { work: Work; answer: AnswerRow }) {
  const channel = useChannel();
  switch (work.kind) {
    case "trouble":
      return (
        <>
          <span className="dra-chip dra-for-previous">for the previous drawing</span>
          <Callout tone="error" title={work.words}>
            <span className="dra-hint dra-clamp">{work.words}</span>
          </Callout>
        </>
      );
    case "after":
      return (
        <span className="dra-progress dra-dim dra-cut" title={work.words}>
          {work.words} ...
        </span>
      );
    case "solve": {
      const told = [answer.progress?.text, answer.progress?.bestText].filter(Boolean).join(", ") || "Planning ...";
      return (
        <>
          {answer.stale && (
            <span className="dra-chip dra-for-previous">for the previous {answer.previous ?? "drawing"}</span>
          )}
          <span className="dra-progress dra-dim dra-cut" title={told}>
            {told}
          </span>
          <Button data-key="cancel" onClick={() => channel.send({ type: "cancel" })}>
            Cancel
          </Button>
        </>
      );
    }
    default:
      return null;
  }
}
