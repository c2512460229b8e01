// The switch that follows a running cluster, and its state in a word; hidden for files and samples.
import type { ClusterBarModel } from "../generated/models";
import { h } from "../view/dom";
import type { Sync } from "../view/sync";

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

/** The switch, and the line that speaks what becomes of it while the focus is elsewhere. */
export function followSwitch(sync: Sync<ClusterBarModel>): HTMLElement[] {
  const word = h("span");
  const button = h(
    "button.dra-button.dra-follow",
    { type: "button", role: "switch", "data-key": "follow", onclick: () => sync.send({ type: "follow", on: !isOn() }) },
    h("span.dra-dot", { "aria-hidden": "true" }),
    word,
  );
  const spoken = h("span.dra-sr", { role: "status" });
  let last = "";
  const isOn = () => ["connecting", "live", "lost"].includes(sync.get("follow").state ?? "");
  sync.watch(["follow"], () => {
    const { state = "", reason = "" } = sync.get("follow");
    button.hidden = !state;
    button.dataset.state = state;
    word.textContent = WORDS[state] ?? state;
    button.setAttribute("aria-checked", String(isOn()));
    button.setAttribute("aria-label", `Follow the cluster: ${state}${reason ? `, ${reason}` : ""}`);
    if (last !== state && (last || state !== "off"))
      spoken.textContent = SPOKEN[state] ? `${SPOKEN[state]}${reason ? `: ${reason}` : ""}` : "";
    last = state;
    button.title =
      reason ||
      (state === "live"
        ? "Changes of the cluster reach the plan as they happen. Press to stop."
        : "Let changes of the cluster reach the plan as they happen");
  });
  return [button, spoken];
}
