// The student's own sentence, and beside it the model sentence with the points to compare.
import { useId } from "react";
import { onEnter } from "../view/keys";
import { useTrait } from "./model";
import { Line } from "./text";

interface Props {
  sentence: string;
  onChange(sentence: string): void;
  onDone(): void;
}

export function Explain({ sentence, onChange, onDone }: Props) {
  const { yours = "", model, points = [] } = useTrait("explained");
  const id = useId();
  return (
    <>
      <div className="dra-lesson-explain">
        <label htmlFor={id}>Your sentence</label>
        <input
          id={id}
          className="dra-field"
          value={sentence}
          maxLength={400}
          autoComplete="off"
          onChange={(event) => onChange(event.currentTarget.value)}
          onKeyDown={onEnter(onDone)}
        />
      </div>
      <div role="status">
        {model && (
          <div className="dra-lesson-compare">
            <section>
              <h4>You</h4>
              <p>{yours}</p>
            </section>
            <section>
              <h4>One good answer</h4>
              <p>
                <Line text={model} />
              </p>
            </section>
            {points.length > 0 && (
              <section>
                <h4>Compare: does your sentence say this?</h4>
                <ul>
                  {points.map((point) => (
                    <li key={point}>
                      <Line text={point} />
                    </li>
                  ))}
                </ul>
              </section>
            )}
          </div>
        )}
      </div>
    </>
  );
}
