"""Five selectors over 90,000 devices, compiled and memoised from nothing each time; target 0.7 s."""

from __future__ import annotations

from dra_lab.cel.matching import Matching
from dra_lab.cel.selector import compile_selector
from dra_lab.model.claims import DeviceClass, DeviceClassSpec
from dra_lab.model.cluster import Cluster
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask
from tests.benchmarks.big_cluster import big_cluster
from tests.benchmarks.timing import median_seconds

SELECTORS = (
    'device.driver == "gpu.nvidia.com"',
    'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].productName.contains("H100")',
    'device.driver != "gpu.nvidia.com" || device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("40Gi")) >= 0',
    'cel.bind(a, device.attributes["resource.kubernetes.io"], has(a.numaNode) && a.numaNode < 4)',
    'device.attributes["dra.net"].?rdma.orValue(false) || device.attributes["gpu.nvidia.com"].?index.orValue(9) < 4',
)


def main() -> None:
    """Print the medians beside the target."""
    groups = [(one.spec.driver, one.spec.devices or ()) for one in big_cluster(5000).slices]

    def by_selector() -> int:
        compile_selector.cache_clear()
        selectors = [compile_selector(text) for text in SELECTORS]
        return sum(one.matches(driver, device) for one in selectors for driver, group in groups for device in group)

    def by_matching() -> int:
        compile_selector.cache_clear()
        everything = DeviceClass(metadata=ObjectMeta(name="any"), spec=DeviceClassSpec())
        matching = Matching(Cluster(), KubernetesRelease("1.36"), {"any": everything})
        asks = [Ask("request", 0, "any", (text,), False, 1, (), {}, False) for text in SELECTORS]
        matched = 0
        for ask in asks:
            # as plans ask: the devices of a node driver by driver
            for driver, group in groups:
                match_of = matching.matcher(ask, driver)
                matched += sum(bool(match_of(device)) for device in group)
        return matched

    compile_selector('device.driver == "warm"')
    print(f"five selectors over {sum(len(group) for _, group in groups):,} devices, medians of 5; target 0.7 s")
    print(f"  Matching.matcher  {median_seconds(by_matching):.2f} s")
    print(f"  Selector.matches  {median_seconds(by_selector):.2f} s")


if __name__ == "__main__":
    main()
