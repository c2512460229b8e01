// The switch that follows a running cluster, and its state in a word; hidden for files and samples.

import { useEffect, useRef, useState } from "react";
import { Button } from "../components/button";
import type { Tone } from "../components/callout";
import { useChannel, useTrait } from "./model";

const WORDS: Readonly<Record<string, string>> = {
  off: "Follow",
  connecting: "Connecting",
  live: "Live",
  lost: "Lost",
  stopped: "Stopped",
};

const SPOKEN: Readonly<Record<string, string>> = {
  off: "The cluster is no longer followed",
  live: "The cluster is followed",
  lost: "The connection to the cluster is lost",
  stopped: "Following the cluster has stopped",
};

const TONES: Readonly<Record<string, Tone>> = { live: "ok", lost: "error", stopped: "error" };

const ON: readonly string[] = ["connecting", "live", "lost"];

/** The switch, and the line that speaks what becomes of it while the focus is elsewhere. */
export function FollowSwitch() {
  const channel = useChannel();
  const { state = "", reason = "" } = useTrait("follow");
  const isOn = ON.includes(state);
  const idle =
    state === "live"
      ? "Changes of the cluster reach the plan as they happen. Press to stop."
      : "Let changes of the cluster reach the plan as they happen";
  return (
    <>
      <Button
        className="dra-follow dra-toned"
        role="switch"
        data-key="follow"
        data-state={state}
        data-tone={TONES[state]}
        hidden={!state}
        aria-checked={isOn}
        label={`Follow the cluster: ${state}${reason ? `, ${reason}` : ""}`}
        title={reason || idle}
        onClick={() => channel.send({ type: "follow", on: !isOn })}
      >
        <span className="dra-dot" aria-hidden="true" />
        <span>{WORDS[state] ?? state}</span>
      </Button>
      <span className="dra-sr" role="status">
        {useSpoken(state, reason)}
      </span>
    </>
  );
}

/** What has become of the switch since the view was opened; that a cluster can be followed is no news. */
function useSpoken(state: string, reason: string): string {
  const last = useRef("");
  const [spoken, setSpoken] = useState("");
  useEffect(() => {
    if (last.current !== state && (last.current || state !== "off")) {
      setSpoken(SPOKEN[state] ? `${SPOKEN[state]}${reason ? `: ${reason}` : ""}` : "");
    }
    last.current = state;
  }, [state, reason]);
  return spoken;
}
