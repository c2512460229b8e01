// Begin the lesson again; the button asks first.
import { useRef } from "react";
import { usePopover } from "../view/use_popover";
import { useChannel } from "./model";

export function StartOver() {
  const channel = useChannel();
  const keep = useRef<HTMLButtonElement>(null);
  const over = usePopover({ first: () => keep.current });
  const start = () => {
    over.close();
    channel.send({ type: "start-over" });
  };
  return (
    <>
      <button {...over.button} className="dra-button" data-key="start over">
        Start over
      </button>
      <div {...over.panel} role="dialog" className="dra-popover dra-lesson-ask" aria-label="Start this lesson again?">
        <h3>Start this lesson again?</h3>
        <p>The lesson begins at step 1 with an empty canvas. A copy of your drawing and your progress is kept.</p>
        <div className="dra-row">
          <button ref={keep} type="button" className="dra-button" onClick={over.close}>
            Keep going
          </button>
          <button type="button" className="dra-button" onClick={start}>
            Start over
          </button>
        </div>
      </div>
    </>
  );
}
