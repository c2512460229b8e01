// Generated from the Python traits by widgets/generate_models.py; a test compares. Do not edit.

export interface CELDeviceSelector {
  expression: string;
}

export interface CanvasHistory {
  canUndo?: boolean;
  canRedo?: boolean;
}

export interface CanvasStatus {
  requests?: Readonly<Record<string, RequestRow>>;
  links?: Readonly<Record<string, LinkRow>>;
  pairs?: Readonly<Record<string, readonly LinkOptionRow[]>>;
}

export interface CapacityRequirements {
  requests?: Readonly<Record<string, string | number>>;
}

export interface ClaimSketch {
  name?: string;
  requests?: readonly DeviceRequest[];
  links?: readonly Link[];
  config?: readonly DeviceClaimConfiguration[];
}

export interface DeviceClaimConfiguration {
  requests?: readonly string[];
  opaque?: OpaqueDeviceConfiguration | null;
}

export interface DeviceDerivedAttribute {
  name: string;
  expression?: string;
}

export interface DeviceRequest {
  name: string;
  exactly?: ExactDeviceRequest | null;
  firstAvailable?: readonly DeviceSubRequest[];
}

export interface DeviceSelector {
  cel?: CELDeviceSelector | null;
}

export interface DeviceSubRequest {
  name: string;
  deviceClassName?: string;
  selectors?: readonly DeviceSelector[];
  allocationMode?: string;
  count?: number;
  tolerations?: readonly DeviceToleration[];
  capacity?: CapacityRequirements | null;
  derivedAttributes?: readonly DeviceDerivedAttribute[];
}

export interface DeviceToleration {
  key?: string;
  operator?: string;
  value?: string;
  effect?: string;
  tolerationSeconds?: number | null;
}

export interface ExactDeviceRequest {
  deviceClassName?: string;
  selectors?: readonly DeviceSelector[];
  allocationMode?: string;
  count?: number;
  adminAccess?: boolean | null;
  tolerations?: readonly DeviceToleration[];
  capacity?: CapacityRequirements | null;
  derivedAttributes?: readonly DeviceDerivedAttribute[];
}

export interface Link {
  name: string;
  requests: readonly string[];
  where?: string;
  how?: "together" | "pairwise" | "apart";
  must?: boolean;
}

export interface LinkOptionRow {
  where: string;
  label: string;
  enabled?: boolean;
  reason?: string;
}

export interface LinkRow {
  label?: string;
  problem?: string;
  note?: string;
  options?: readonly LinkOptionRow[];
}

export interface OpaqueDeviceConfiguration {
  driver?: string;
  parameters?: Readonly<Record<string, unknown>>;
}

export interface PaletteRow {
  key: string;
  label: string;
  deviceClass: string;
  kind?: string;
  selectors?: readonly string[];
  capacityKey?: string;
  defaultCount?: number;
  defaultCapacity?: string;
  free?: number;
  total?: number;
  inCluster?: boolean;
  driver?: string;
  note?: string;
}

export interface RequestRow {
  letter?: string;
  colour?: string;
  textColour?: string;
  kind?: string;
  label?: string;
  matching?: number;
  total?: number;
  text?: string;
  error?: string;
  matchingIds?: readonly string[];
  free?: number;
}

export interface ClaimCanvasModel {
  height: number;
  highlight: string;
  history: CanvasHistory;
  palette: readonly PaletteRow[];
  positions: Readonly<Record<string, [number, number]>>;
  problem: string;
  read_only: boolean;
  sketch: ClaimSketch;
  status: CanvasStatus;
}
