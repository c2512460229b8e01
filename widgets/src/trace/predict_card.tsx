// What is to be predicted, what became of the last prediction, and the score.
import { useTrait } from "../hardware/model";

export function PredictCard() {
  const { question = "", verdict = "", right = false, score = 0, asked = 0 } = useTrait("trace_prediction");
  return (
    <section className="dra-trace-card dra-trace-predict" aria-label="Predict first">
      <h3>Predict first</h3>
      {verdict && (
        <p role="status" data-right={right}>
          {verdict}
        </p>
      )}
      <p>
        {question
          ? `${question} Click it on the picture, or move there with the arrows and press Enter.`
          : "kube-scheduler allocates no more devices here. Show the rest without predicting."}
      </p>
      <p className="dra-hint">
        Score: {score} of {asked}
      </p>
    </section>
  );
}
