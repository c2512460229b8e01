// The verdict: the drawing read back, the answer, what kube-scheduler does, up to four figures, and what would help.
import { type KeyboardEvent, type RefObject, useEffect, useRef } from "react";
import type { AnswerRow, FixCard } from "../generated/models";
import { Figure } from "../view/figure";
import { Icon, type IconName } from "../view/icon";
import { keyed } from "../view/keyed";
import { usePopover } from "../view/use_popover";
import { useChannel, useTrait } from "./model";
import { useWork, Working } from "./working";

type State = NonNullable<AnswerRow["state"]>;
const SIGNS: Readonly<Record<State, IconName>> = {
  fits: "check",
  misfit: "cross",
  empty: "note",
  error: "error",
  stopped: "warning",
  solving: "dots",
};
/** What the sign says, for those who do not see it. */
const WORDS: Readonly<Record<State, string>> = {
  fits: "Fits",
  misfit: "Does not fit",
  empty: "Nothing drawn",
  error: "No answer",
  stopped: "Stopped",
  solving: "Planning",
};

export function Verdict() {
  const channel = useChannel();
  const answer = useTrait("answer");
  const { state = "empty", tiles = [], fixes = [] } = answer;
  // How far it is stands beside it: a sentence that changes with every step would be read out with every step.
  const words = state === "solving" ? `${WORDS[state]} ...` : answer.sentence || WORDS[state];
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
  const names = ["dra-answer", tiles.length && "has-figures", isStale && "is-stale"];
  return (
    <section
      ref={box}
      className={names.filter(Boolean).join(" ")}
      aria-label="Answer"
      data-state={state}
      data-key="verdict"
      tabIndex={fixes.length ? 0 : -1}
      onKeyDown={onKeyDown}
    >
      <div className="dra-answer-text">
        {answer.asked && <p className="dra-asked">{answer.asked}</p>}
        <div className="dra-headline">
          <span className="dra-sign" role="img" aria-label={WORDS[state]}>
            <Icon name={SIGNS[state]} />
          </span>
          <h2 className="dra-sentence" role="status">
            {words}
          </h2>
        </div>
        {fixes.length > 0 ? (
          <Fixes fixes={fixes} isStale={isStale} tried={answer.tried ?? ""} apply={apply} />
        ) : (
          <Scheduler answer={answer} />
        )}
        <div className="dra-work" role="status">
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
        <button
          type="button"
          className="dra-link"
          data-key="difference"
          onClick={() => channel.send({ type: "show-difference" })}
        >
          Show the difference
        </button>
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
    <div className="dra-fix-cards" role="group" aria-label="What would help" data-home=".dra-answer">
      {fixes.map((fix, at) => (
        <button
          key={fix.id}
          type="button"
          className="dra-fix"
          disabled={isStale}
          onClick={() => apply(fix.id)}
          title={at === 0 ? "Enter applies it" : undefined}
        >
          <b>{fix.title}</b>
          <span>
            {fix.brings} <em>{at === 0 ? "Apply ↵" : "Apply"}</em>
          </span>
        </button>
      ))}
      {tried && <Tried text={tried} />}
    </div>
  );
}

/** What was tried in vain, which can be long. */
function Tried({ text }: { text: string }) {
  const over = usePopover();
  const [title, ...rest] = text.split(": ");
  const tried = rest.join(": ").split("; ");
  return (
    <>
      <button {...over.button} className="dra-link dra-tried" data-key="tried">
        {title}
      </button>
      <div {...over.panel} role="dialog" className="dra-popover dra-explained" aria-label={title}>
        <h3>{title}</h3>
        <ul className="dra-lines">
          {keyed(tried).map(([key, change]) => (
            <li key={key}>{change}</li>
          ))}
        </ul>
      </div>
    </>
  );
}
