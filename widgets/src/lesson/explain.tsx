// The student's own sentence, and beside it the model sentence with the points to compare.
import { useId } from "react";
import { Card } from "../components/card";
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
      <div className="dra-stack dra-lesson-explain">
        <label htmlFor={id}>Your sentence</label>
        <input
          id={id}
          className="dra-input"
          value={sentence}
          maxLength={400}
          autoComplete="off"
          onChange={(event) => onChange(event.currentTarget.value)}
          onKeyDown={onEnter(onDone)}
        />
      </div>
      <div role="status">
        {model && (
          <div className="dra-stack dra-lesson-compare">
            <Card title="You">
              <p>{yours}</p>
            </Card>
            <Card title="One good answer">
              <p>
                <Line text={model} />
              </p>
            </Card>
            {points.length > 0 && (
              <Card title="Compare: does your sentence say this?">
                <ul className="dra-points">
                  {points.map((point) => (
                    <li key={point}>
                      <Line text={point} />
                    </li>
                  ))}
                </ul>
              </Card>
            )}
          </div>
        )}
      </div>
    </>
  );
}
