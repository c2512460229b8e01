// The steps of a scheduler's choice up to the present one.
import { useLayoutEffect, useRef } from "react";
import { useChannel, useTrait } from "../hardware/model";

export function GangSteps() {
  const channel = useChannel();
  const { total = 0 } = useTrait("gang_trace");
  const { steps = [], step = 0 } = useTrait("gang_trace_now");
  const list = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the present step comes into sight when it changes
  useLayoutEffect(() => {
    const present = list.current?.querySelector<HTMLElement>('[aria-current="step"]');
    if (list.current && present) list.current.scrollTop = present.offsetTop - list.current.clientHeight / 2;
  }, [step]);
  const left = total - step;
  return (
    <section className="dra-trace-steps" aria-label="Steps">
      <h3>What the scheduler does</h3>
      <div ref={list} className="dra-trace-scroll">
        <table>
          <thead>
            <tr>
              {["step", "level", "what happens"].map((head) => (
                <th key={head} scope="col">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {steps.map((row) => (
              <tr key={row.number} aria-current={row.number === step ? "step" : undefined}>
                <td>
                  <button
                    type="button"
                    className="dra-link"
                    title={`Show step ${row.number}`}
                    onClick={() => channel.set({ gang_trace_step: row.number })}
                  >
                    {row.number}
                  </button>
                </td>
                <td>{row.level}</td>
                <td>{row.sentence}</td>
              </tr>
            ))}
            {left > 0 && (
              <tr className="dra-trace-later">
                <td colSpan={3}>
                  {left === 1 ? `Step ${total} is` : `Steps ${step + 1} to ${total} are`} not shown yet
                </td>
              </tr>
            )}
          </tbody>
        </table>
      </div>
    </section>
  );
}
