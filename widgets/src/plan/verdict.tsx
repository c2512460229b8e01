// The verdict of Plan and of Fleet: what is asked, the answer with its proof, what a scheduler does, the figures, what
// would help, and what goes on.

import {
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { Button, classes, Icon, type IconName } from "../components/button";
import { Callout, Points, type Tone } from "../components/content";
import { Figures, Popover, usePopover } from "../components/popover";
import type { AnswerRow, Fix } from "../generated/models";
import { useHeightOf } from "../view/grid";
import { useChannel, useTrait } from "./model";

// The verdict in a sentence, with its sign; those who do not see the sign hear its word.
type Sign = readonly [icon: IconName, word: string, tone?: Tone];

function Headline({ sign: [icon, word, tone], words }: { sign: Sign; words: string }) {
  return (
    <div className="dra-callout dra-headline">
      <span className="dra-sign dra-toned" data-tone={tone} role="img" aria-label={word}>
        <Icon name={icon} />
      </span>
      <h2 className="dra-sentence" role="status">
        {words}
      </h2>
    </div>
  );
}

/** How long the last answer may look like the present one, in milliseconds. */
const STALE_AFTER = 150;
/** How long something goes on after the answer until it is told, in milliseconds: mostly it is over sooner. */
const AFTER = 500;

interface Work {
  readonly kind: "" | "trouble" | "solve" | "after" | "stopped";
  readonly words?: string;
}

const NOTHING: Work = { kind: "" };
const STOPPED: Work = { kind: "stopped" };

/** A solve and what goes on after it are told only when they take a while. */
function useWork(answer: AnswerRow): Work {
  const [work, setWork] = useState(NOTHING);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const { trouble = "", after = "", canImprove = false } = answer;
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
    setWork(trouble ? { kind: "trouble", words: trouble } : canImprove ? STOPPED : NOTHING);
    if (after && !trouble) later({ kind: "after", words: after }, AFTER);
  }, [trouble, isSolving, after, canImprove]);
  return work;
}

/** How far a plan is from the most that may fit. */
function Gap({ gap: [placed, most] = [0, 0] }: Pick<AnswerRow, "gap">) {
  if (!most) return null;
  return (
    <>
      <span>
        {placed.toLocaleString("en")} placed, at most {most.toLocaleString("en")}
      </span>
      <progress max={most} value={placed} aria-label="Placed of what may fit" />
    </>
  );
}

/** `keeps` says what stays when that which goes on after the answer is stopped. */
function Working({ work, answer, keeps }: { work: Work; answer: AnswerRow; keeps?: string | undefined }) {
  switch (work.kind) {
    case "trouble":
      return (
        <>
          <span className="dra-chip dra-hint is-absent dra-for-previous">for the previous drawing</span>
          <Callout tone="error" title={work.words}>
            <span className="dra-hint dra-clamp">{work.words}</span>
          </Callout>
        </>
      );
    case "after":
      return (
        <>
          <Gap gap={answer.gap} />
          <span className="dra-progress dra-dim dra-cut" title={work.words}>
            {work.words} ...
          </span>
          {keeps && (
            <Button send={{ type: "cancel" }} title={keeps}>
              Stop
            </Button>
          )}
        </>
      );
    case "stopped":
      return (
        <>
          <span className="dra-dim">Stopped.</span>
          <Button send={{ type: "improve-fleet" }}>Continue</Button>
        </>
      );
    case "solve": {
      const told = [answer.progress?.text, answer.progress?.bestText].filter(Boolean).join(", ") || "Planning ...";
      return (
        <>
          {answer.stale && (
            <span className="dra-chip dra-hint is-absent dra-for-previous">
              for the previous {answer.previous ?? "drawing"}
            </span>
          )}
          <span className="dra-progress dra-dim dra-cut" title={told}>
            {told}
          </span>
          <Button data-key="cancel" send={{ type: "cancel" }}>
            Cancel
          </Button>
        </>
      );
    }
    default:
      return null;
  }
}

type State = NonNullable<AnswerRow["state"]>;
const SIGNS: Readonly<Record<State, Sign>> = {
  fits: ["check", "Fits", "ok"],
  misfit: ["cross", "Does not fit", "error"],
  empty: ["note", "Nothing is asked"],
  error: ["error", "No answer", "error"],
  stopped: ["warning", "Stopped", "warn"],
  solving: ["dots", "Planning"],
};

/** The verdict of Plan; `onMoves` shows the moves of running pods. */
export function PlanVerdict({ onMoves }: { onMoves(): void }) {
  const [answer, moves] = [useTrait("answer"), useTrait("moves")];
  const box = useRef<HTMLElement>(null);
  // What is told under the verdict stands where it ends.
  useHeightOf(box, "--dra-strip");
  const helps = Boolean(moves.sentence && !moves.seeking);
  const isMoved = Boolean(answer.state === "misfit" && moves.sentence);
  return (
    <Verdict answer={answer} box={box} id="verdict" helps={isMoved}>
      {helps && (
        <Button kind="link" data-key="moves" onClick={onMoves}>
          {moves.steps?.length ? "Show the moves" : "No move makes room"}
        </Button>
      )}
    </Verdict>
  );
}

interface VerdictProps {
  answer: AnswerRow;
  box?: RefObject<HTMLElement | null>;
  id?: string;
  className?: string;
  keeps?: string;
  helps?: boolean;
  beside?: ReactNode;
  children?: ReactNode;
}

/** `helps` shows the children, which help, also without changes; `beside` stands beside the work that goes on. */
export function Verdict({ answer, box, id, className = "", keeps, helps, beside, children }: VerdictProps) {
  const channel = useChannel();
  const { state = "empty", tiles = [], fixes = [] } = answer;
  // How far it is stands beside it: a sentence that changes with every step would be read out with every step.
  const word = SIGNS[state][1];
  const words = state === "solving" ? `${word} ...` : answer.sentence || word;
  const work = useWork(answer);
  const own = useRef<HTMLElement>(null);
  const root = box ?? own;
  const isStale = work.kind === "trouble" || work.kind === "solve";
  const apply = (number: number | undefined) => {
    if (number === undefined) return;
    channel.send({ type: "apply-suggestion", number });
    // The card goes away with the answer; the drawing that has changed stays.
    root.current?.closest(".dra-lab")?.querySelector<HTMLElement>(".dra-board")?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || (event.target as Element).closest("button, .dra-popover") || isStale) return;
    if (!fixes.length) return;
    event.preventDefault();
    apply(fixes[0]?.number);
  };
  return (
    <section
      ref={root}
      className={classes("dra-answer", className, tiles.length > 0 && "has-figures", isStale && "is-stale")}
      aria-label="Answer"
      data-state={state}
      data-key={id}
      tabIndex={fixes.length ? 0 : -1}
      onKeyDown={onKeyDown}
    >
      <div className="dra-answer-text dra-column dra-fill">
        {answer.asked && (
          <p className="dra-asked dra-dim dra-clamp" title={answer.asked}>
            {answer.asked}
          </p>
        )}
        <Headline sign={SIGNS[state]} words={words} />
        {answer.proof && <p className="dra-proof">{answer.proof}</p>}
        {fixes.length > 0 || helps ? (
          <Fixes fixes={fixes} isStale={isStale} tried={answer.tried ?? ""} apply={apply}>
            {children}
          </Fixes>
        ) : (
          answer.scheduler && (
            <p className="dra-scheduler dra-dim">
              {answer.scheduler}{" "}
              {answer.differs && (
                <Button kind="link" data-key="difference" send={{ type: "show-difference" }}>
                  Show the difference
                </Button>
              )}
            </p>
          )
        )}
        <div className="dra-row dra-work" role="status">
          <Working work={work} answer={answer} keeps={keeps} />
          {beside}
        </div>
      </div>
      <Figures rows={tiles} />
    </section>
  );
}

interface FixesProps {
  fixes: readonly Fix[];
  isStale: boolean;
  tried: string;
  apply(number: number): void;
  children?: ReactNode;
}

function Fixes({ fixes, isStale, tried, apply, children }: FixesProps) {
  return (
    <div className="dra-row" role="group" aria-label="What would help" data-home=".dra-answer">
      {fixes.map((fix, at) => (
        <Button
          kind="bare"
          className="dra-card dra-fix"
          key={fix.number}
          disabled={isStale}
          onClick={() => apply(fix.number)}
          title={at === 0 ? "Enter applies it" : undefined}
        >
          <b>{fix.title}</b>
          <span className="dra-hint">
            {fix.brings} <em>{at === 0 ? "Apply ↵" : "Apply"}</em>
          </span>
        </Button>
      ))}
      {tried && <Tried text={tried} />}
      {children}
    </div>
  );
}

/** What was tried in vain, which can be long. */
function Tried({ text }: { text: string }) {
  const over = usePopover();
  const [title, ...rest] = text.split(": ");
  return (
    <>
      <Button kind="link" {...over.button} data-key="tried">
        {title}
      </Button>
      <Popover over={over} title={title ?? ""} className="dra-explained">
        <Points lines={rest.join(": ").split("; ")} />
      </Popover>
    </>
  );
}
