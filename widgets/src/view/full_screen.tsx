// The button that gives a part of the page the whole screen, for a class or a talk; Esc or the button leaves it.
import { useEffect, useRef, useState } from "react";
import { Button } from "../components/button";

/** `of` finds the part, around the button. A page that may not use the whole screen has no such button. */
export function FullScreen({ of }: { of: string }) {
  const button = useRef<HTMLButtonElement>(null);
  const [isFull, setFull] = useState(false);
  useEffect(() => {
    const look = () => setFull(document.fullscreenElement !== null);
    document.addEventListener("fullscreenchange", look);
    return () => document.removeEventListener("fullscreenchange", look);
  }, []);
  if (!document.fullscreenEnabled) return null;
  const turn = () => {
    if (isFull) void document.exitFullscreen();
    else void button.current?.closest(of)?.requestFullscreen();
  };
  return (
    <Button
      ref={button}
      icon="fit"
      label="Full screen"
      pressed={isFull}
      title="Full screen (Esc leaves it)"
      onClick={turn}
    >
      <span className="dra-wide">Full screen</span>
    </Button>
  );
}
