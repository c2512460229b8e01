"""Device configuration that a person types into the inspector, as an entry of the drawing."""

from __future__ import annotations

from msgspec.structs import replace

from dra_lab.checks.selectors import check_opaque
from dra_lab.errors import ManifestError
from dra_lab.manifests.yaml_text import load_yaml
from dra_lab.model.claims import DeviceClaimConfiguration, OpaqueDeviceConfiguration
from dra_lab.model.sketch import ClaimSketch


def with_config(sketch: ClaimSketch, index: int, requests: tuple[str, ...], driver: str, text: str) -> ClaimSketch:
    """Return the drawing with typed parameters in `config[]`; with an empty text, without that entry.

    Raises ManifestError, with the line, for a text that is no YAML or JSON object or that the API server refuses.
    """
    entries = list(sketch.config)
    if not text.strip():
        return replace(sketch, config=tuple(entry for at, entry in enumerate(entries) if at != index))
    found = [document.value for document in load_yaml(text) if document.value is not None]
    if len(found) != 1 or not isinstance(found[0], dict):
        raise ManifestError("the parameters are one YAML or JSON object, such as `sharing: {strategy: TimeSlicing}`")
    driver = driver.strip()
    for error in check_opaque({"opaque": {"driver": driver, "parameters": found[0]}}, ""):
        raise ManifestError(f"{error.field.removeprefix('.opaque.')}: {error.message}")
    entry = DeviceClaimConfiguration(
        requests=requests, opaque=OpaqueDeviceConfiguration(driver=driver, parameters=found[0])
    )
    entries[index : index + 1] = [entry]
    return replace(sketch, config=tuple(entries))
