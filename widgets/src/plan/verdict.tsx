// The verdict: the drawing read back, the answer, what kube-scheduler does, up to four figures, and what would help.

import { type KeyboardEvent, type RefObject, useEffect, useRef } from "react";
import { Button } from "../components/button";
import { classes } from "../components/classes";
import { Points } from "../components/lines";
import { Popover } from "../components/popover";
import type { AnswerRow, FixCard } from "../generated/models";
import { Figure } from "../view/figure";
import { keyed } from "../view/keyed";
import { usePopover } from "../view/use_popover";
import { Headline, type Sign } from "./headline";
import { useChannel, useTrait } from "./model";
import { useWork, Working } from "./working";

type State = NonNullable<AnswerRow["state"]>;
const SIGNS: Readonly<Record<State, Sign>> = {
  fits: ["check", "Fits", "ok"],
  misfit: ["cross", "Does not fit", "error"],
  empty: ["note", "Nothing drawn"],
  error: ["error", "No answer", "error"],
  stopped: ["warning", "Stopped", "warn"],
  solving: ["dots", "Planning"],
};

export function Verdict() {
  const channel = useChannel();
  const answer = useTrait("answer");
  const { state = "empty", tiles = [], fixes = [] } = answer;
  // How far it is stands beside it: a sentence that changes with every step would be read out with every step.
  const word = SIGNS[state][1];
  const words = state === "solving" ? `${word} ...` : answer.sentence || word;
  const work = useWork(answer);
  const box = useRef<HTMLElement>(null);
  const isStale = work.kind !== "" && work.kind !== "after";
  const apply = (id: string | undefined) => {
    if (id === undefined) return;
    channel.send({ type: "apply-suggestion", id });
    // The card goes away with the answer; the drawing that has changed stays.
    box.current?.closest(".dra-lab")?.querySelector<HTMLElement>(".dra-board")?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || (event.target as Element).closest("button, .dra-popover") || isStale) return;
    if (!fixes.length) return;
    event.preventDefault();
    apply(fixes[0]?.id);
  };
  useHeight(box);
  return (
    <section
      ref={box}
      className={classes("dra-answer", tiles.length > 0 && "has-figures", isStale && "is-stale")}
      aria-label="Answer"
      data-state={state}
      data-key="verdict"
      tabIndex={fixes.length ? 0 : -1}
      onKeyDown={onKeyDown}
    >
      <div className="dra-answer-text dra-column">
        {answer.asked && (
          <p className="dra-asked" title={answer.asked}>
            {answer.asked}
          </p>
        )}
        <Headline sign={SIGNS[state]} words={words} />
        {fixes.length > 0 ? (
          <Fixes fixes={fixes} isStale={isStale} tried={answer.tried ?? ""} apply={apply} />
        ) : (
          <Scheduler answer={answer} />
        )}
        <div className="dra-row dra-work" role="status">
          <Working work={work} answer={answer} />
        </div>
      </div>
      <div className="dra-tiles">
        {keyed(tiles, (row) => row.caption).map(([key, row]) => (
          <Figure key={key} row={row} />
        ))}
      </div>
    </section>
  );
}

/** What is told under the verdict stands where it ends. */
function useHeight(box: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const node = box.current;
    if (!node || typeof ResizeObserver === "undefined") return;
    const sizes = new ResizeObserver(() =>
      node.closest<HTMLElement>(".dra-lab-grid")?.style.setProperty("--dra-strip", `${node.offsetHeight}px`),
    );
    sizes.observe(node);
    return () => sizes.disconnect();
  }, [box]);
}

function Scheduler({ answer }: { answer: AnswerRow }) {
  const channel = useChannel();
  if (!answer.scheduler) return null;
  return (
    <p className="dra-scheduler">
      {answer.scheduler}{" "}
      {answer.differs && (
        <Button kind="link" data-key="difference" onClick={() => channel.send({ type: "show-difference" })}>
          Show the difference
        </Button>
      )}
    </p>
  );
}

interface FixesProps {
  fixes: readonly FixCard[];
  isStale: boolean;
  tried: string;
  apply(id: string): void;
}

function Fixes({ fixes, isStale, tried, apply }: FixesProps) {
  return (
    <div className="dra-row" role="group" aria-label="What would help" data-home=".dra-answer">
      {fixes.map((fix, at) => (
        <Button
          kind="bare"
          className="dra-card dra-fix"
          key={fix.id}
          disabled={isStale}
          onClick={() => apply(fix.id)}
          title={at === 0 ? "Enter applies it" : undefined}
        >
          <b>{fix.title}</b>
          <span className="dra-hint">
            {fix.brings} <em>{at === 0 ? "Apply ↵" : "Apply"}</em>
          </span>
        </Button>
      ))}
      {tried && <Tried text={tried} />}
    </div>
  );
}

/** What was tried in vain, which can be long. */
function Tried({ text }: { text: string }) {
  const over = usePopover();
  const [title, ...rest] = text.split(": ");
  return (
    <>
      <Button kind="link" className="dra-tried" {...over.button} data-key="tried">
        {title}
      </Button>
      <Popover over={over} title={title ?? ""} className="dra-explained">
        <Points lines={rest.join(": ").split("; ")} />
      </Popover>
    </>
  );
}
