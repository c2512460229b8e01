// For which Kubernetes release the manifests are.
import { named } from "../components/choice";
import { Select } from "../components/inputs";
import { useChannel, useTrait } from "./model";

/** Stands in the bar, and where space is short in the menu of the meters. */
export function Release() {
  const channel = useChannel();
  const [now, known] = [useTrait("release"), useTrait("releases")];
  return (
    <label className="dra-row dra-bar-release">
      <span className="dra-dim dra-wide">Kubernetes</span>
      <Select
        label="Kubernetes release that the manifests are for"
        value={now}
        options={named([...new Set([...known, ...(now ? [now] : [])])])}
        onChoose={(value) => channel.send({ type: "release", value })}
      />
    </label>
  );
}
