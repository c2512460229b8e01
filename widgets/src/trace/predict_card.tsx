// What is to be predicted, what became of the last prediction, and the score.
import { Card } from "../components/card";
import { useTrait } from "../hardware/model";

export function PredictCard() {
  const { question = "", verdict = "", right = false, score = 0, asked = 0 } = useTrait("trace_prediction");
  return (
    <Card title="Predict first" className="dra-trace-predict">
      {verdict && (
        <p role="status" className="dra-toned" data-tone={right ? "ok" : "warn"} data-right={right}>
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
    </Card>
  );
}
