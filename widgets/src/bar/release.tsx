// For which Kubernetes release the manifests are.
import { useChannel, useTrait } from "./model";

/** Stands in the bar, and where space is short in the menu of the meters. */
export function Release() {
  const channel = useChannel();
  const [now, known] = [useTrait("release"), useTrait("releases")];
  return (
    <label className="dra-bar-release">
      <span className="dra-dim dra-wide">Kubernetes</span>
      <select
        className="dra-button"
        aria-label="Kubernetes release that the manifests are for"
        value={now}
        onChange={(event) => channel.send({ type: "release", value: event.currentTarget.value })}
      >
        {[...new Set([...known, ...(now ? [now] : [])])].map((version) => (
          <option key={version} value={version}>
            {version}
          </option>
        ))}
      </select>
    </label>
  );
}
