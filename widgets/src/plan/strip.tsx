// The answer strip: one sentence, its figures, and how far a solve is. It never moves and is never blank.
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import type { AnswerRow, FigureRow } from "../generated/models";
import { Icon, type IconName } from "../view/icon";
import { keyed } from "../view/keyed";
import { useChannel, useTrait } from "./model";

/** How long the last answer may look like the present one, in milliseconds. */
const STALE_AFTER = 150;
/** How long something goes on after the answer until it is told, in milliseconds: mostly it is over sooner. */
const AFTER = 500;

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

export function Strip() {
  const answer = useTrait("answer");
  const { state = "empty", figures = [] } = answer;
  // How far it is stands beside it: a sentence that changes with every step would be read out with every step.
  const words = state === "solving" ? `${WORDS[state]} ...` : answer.sentence || WORDS[state];
  const work = useWork(answer);
  const names = ["dra-answer", figures.length && "has-figures", work.kind && work.kind !== "after" && "is-stale"];
  return (
    <section className={names.filter(Boolean).join(" ")} aria-label="Answer" data-state={state}>
      <span className="dra-sign" role="img" aria-label={WORDS[state]}>
        <Icon name={SIGNS[state]} />
      </span>
      <div className="dra-answer-text">
        <h2 className="dra-sentence" role="status" title={words}>
          {words}
        </h2>
        <div className="dra-figures">
          {keyed(figures, (row) => `${row.label} ${row.value}`).map(([key, row]) => (
            <Figure key={key} row={row} />
          ))}
        </div>
      </div>
      <div className="dra-work" role="status">
        <Working work={work} answer={answer} />
      </div>
    </section>
  );
}

function Figure({ row }: { row: FigureRow }) {
  return (
    <span className="dra-figure" data-tone={row.tone ?? "plain"} title={row.title || undefined}>
      {row.label && `${row.label} `}
      <b>{row.value}</b>
    </span>
  );
}

/** What is told beside the answer: nothing, why there is none, how far a solve is, what goes on after it. */
interface Work {
  readonly kind: "" | "trouble" | "solve" | "after";
  readonly words?: string;
}

const NOTHING: Work = { kind: "" };

/** A solve and what goes on after it are told only when they take a while. */
function useWork(answer: AnswerRow): Work {
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

function Working({ work, answer }: { work: Work; answer: AnswerRow }) {
  const channel = useChannel();
  switch (work.kind) {
    case "trouble":
      return (
        <>
          <span className="dra-for-previous">for the previous drawing</span>
          <span className="dra-trouble" title={work.words}>
            <Icon name="error" />
            <span>{work.words}</span>
          </span>
        </>
      );
    case "after":
      return (
        <span className="dra-progress" title={work.words}>
          {work.words} ...
        </span>
      );
    case "solve": {
      const told = [answer.progress?.text, answer.progress?.bestText].filter(Boolean).join(", ") || "Planning ...";
      return (
        <>
          {answer.stale && <span className="dra-for-previous">for the previous {answer.previous ?? "drawing"}</span>}
          <span className="dra-progress" title={told}>
            {told}
          </span>
          <button
            type="button"
            className="dra-button"
            data-key="cancel"
            onClick={() => channel.send({ type: "cancel" })}
          >
            Cancel
          </button>
        </>
      );
    }
    default:
      return null;
  }
}
