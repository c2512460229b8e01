// The clusters that were opened last in this browser, by what was given to open them.
const KEY = "dra-lab-recent-clusters";
/** Clusters that are kept. */
const MOST = 5;

/** Return them, the latest first; none where the browser keeps nothing for pages. */
export function recentClusters(): readonly string[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(found) ? found.filter((one) => typeof one === "string").slice(0, MOST) : [];
  } catch {
    return [];
  }
}

/** Put a cluster first. */
export function rememberCluster(source: string): void {
  try {
    const before = recentClusters().filter((one) => one !== source);
    localStorage.setItem(KEY, JSON.stringify([source, ...before].slice(0, MOST)));
  } catch {
    // A browser that keeps nothing shows no recent clusters.
  }
}
