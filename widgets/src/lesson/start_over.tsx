// Begin the lesson again; the button asks first.

import { useRef } from "react";
import { Button } from "../components/button";
import { Popover } from "../components/popover";
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
      <Button {...over.button} data-key="start over">
        Start over
      </Button>
      <Popover over={over} title="Start this lesson again?" className="dra-lesson-ask">
        <p>The lesson begins at step 1 with an empty canvas. A copy of your drawing and your progress is kept.</p>
        <div className="dra-row">
          <Button ref={keep} onClick={over.close}>
            Keep going
          </Button>
          <Button onClick={start}>Start over</Button>
        </div>
      </Popover>
    </>
  );
}
