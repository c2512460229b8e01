// Generated from the Python traits by widgets/generate_models.py; a test compares. Do not edit.

export const LINK_KINDS = [
  { value: "together", meaning: "All devices share the place.", leastEnds: 1 },
  { value: "pairwise", meaning: "Each device of one request has its own partner in the same place.", leastEnds: 2 },
  { value: "apart", meaning: "No two devices share the place.", leastEnds: 1 },
] as const;

export interface AddableRow {
  node: string;
  hardware: string;
  cost: string;
  places: string;
}

export interface AddingRow {
  needed?: boolean;
  types?: readonly AddableRow[];
  levels?: readonly LevelRow[];
  hierarchy?: string;
  level?: string;
  word?: string;
  words?: string;
  example?: string;
  domains?: number;
  nodes?: number;
  working?: boolean;
  found?: "" | "error" | "nodes" | "none" | "open";
  verdict?: string;
  rows?: readonly [string, string, boolean, string, string][];
  total?: [string, string];
  lines?: readonly string[];
  stale?: boolean;
  request?: string;
  file?: string;
  limits?: readonly string[];
  findings?: readonly FindingRow[];
}

export interface AmountRow {
  key: string;
  unit?: string;
  note?: string;
  wrong?: boolean;
}

export interface AnswerRow {
  state?: "empty" | "error" | "fits" | "misfit" | "solving" | "stopped";
  sentence?: string;
  asked?: string;
  scheduler?: string;
  differs?: boolean;
  tiles?: readonly Tile[];
  fixes?: readonly Fix[];
  tried?: string;
  stale?: boolean;
  progress?: ProgressRow | null;
  trouble?: string;
  previous?: "cluster" | "drawing" | "question";
  after?: string;
  proof?: string;
  gap?: [number, number];
  canImprove?: boolean;
}

export interface AskRow {
  text?: string;
  options?: readonly [string, string][];
}

export interface BadgeRow {
  letter: string;
  colour: string;
  textColour: string;
}

export interface Bar {
  label: string;
  count: number;
  of: number;
  note?: string;
  short?: boolean;
}

export interface BarTable {
  kind?: string;
  by?: "nodes" | "racks" | "types";
  kinds?: readonly [string, string][];
  groupings?: readonly [string, string][];
  rows?: readonly [string, string, string, number, number, number, number, number, number, string][];
  names?: readonly string[];
  filters?: readonly FilterRow[];
  note?: string;
  many?: boolean;
}

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
  pairs?: Readonly<Record<string, readonly LinkOption[]>>;
  counting?: boolean;
  claims?: Readonly<Record<string, ClaimRow>>;
  config?: readonly ConfigRow[];
  gates?: Readonly<Record<string, string>>;
}

export interface CapacityRequirements {
  requests?: Readonly<Record<string, string | number>>;
}

export interface CardRow {
  id?: string;
  title?: string;
  node?: boolean;
  cordoned?: boolean;
  lines?: readonly string[];
  pods?: readonly PodsRow[];
  rows?: readonly [string, string, string, number, number, number, number, number, number, string][];
  svg?: string;
  why?: WhyNotRow;
}

export interface Cell {
  text: string;
  best?: boolean;
}

export interface ChangesRow {
  heading: string;
  total: number;
  findings: readonly FindingRow[];
}

export interface ChipRow {
  name: string;
  kind: string;
  state: string;
  letter?: string;
  colour?: string;
  textColour?: string;
}

export interface ClaimAnswer {
  number?: number;
  message?: string;
  line?: number;
  fixes?: readonly FixRow[];
  text?: string;
}

export interface ClaimRow {
  field: string;
  template: string;
}

export interface ClaimSketch {
  name?: string;
  requests?: readonly DeviceRequest[];
  links?: readonly Link[];
  config?: readonly DeviceClaimConfiguration[];
  claims?: readonly string[];
}

export interface CompareRow {
  sentence: string;
  stage?: string;
  plans?: readonly ComparedPlan[];
  lines?: readonly ComparisonRow[];
  meanings?: Readonly<Record<string, string>>;
  most?: number;
  every?: readonly string[];
  markdown?: string;
  csv?: string;
}

export interface ComparedPlan {
  name: string;
  sentence: string;
  kind?: "baseline" | "kept" | "now";
  node?: string;
  drawn?: boolean;
  places?: readonly PlaceRow[];
  bars?: readonly [string, number, number, number, number, number][];
  elsewhere?: boolean;
  diff?: readonly string[];
}

export interface ComparisonRow {
  key: string;
  label: string;
  cells: readonly Cell[];
  differs: boolean;
}

export interface ConfigAnswer {
  index?: number;
  message?: string;
}

export interface ConfigRow {
  driver?: string;
  text?: string;
}

export interface CountsRow {
  error?: number;
  warning?: number;
  note?: number;
  checking?: boolean;
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

export interface DeviceTable {
  columns?: readonly string[];
  ids?: readonly string[];
  rows?: readonly (readonly string[])[];
  caption?: string;
  total?: number;
}

export interface DeviceToleration {
  key?: string;
  operator?: string;
  value?: string;
  effect?: string;
  tolerationSeconds?: number | null;
}

export interface DomainCard {
  id?: string;
  title?: string;
  lines?: readonly string[];
  bars?: readonly TestBars[];
  fixes?: readonly [string, string][];
  boxes?: readonly [string, number, number, number, number, boolean][];
}

export interface DomainRow {
  id: string;
  name: string;
  depth?: number;
  state?: "chosen" | "fits" | "outer" | "refused" | "unknown";
  nodes?: number;
  holds?: string;
  words?: string;
  sums?: [number, number, number, number, number];
  boxes?: readonly [string, number, number, number, number, boolean][];
}

export interface DomainTable {
  gang?: string;
  gangs?: readonly string[];
  level?: string;
  title?: string;
  rows?: readonly DomainRow[];
  heat?: HeatMap;
  note?: string;
}

export interface DriverKindRow {
  driver: string;
  kind: string;
  guessed?: boolean;
  profile?: string;
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

export interface ExampleRow {
  title: string;
  lines?: readonly string[];
  matching?: string;
}

export interface ExplainedRow {
  yours?: string;
  model?: string;
  points?: readonly string[];
}

export interface ExportChoice {
  apiVersion?: string;
  kind?: string;
  namespace?: string;
  example?: string;
  workload?: string;
  templates?: readonly string[];
  container?: string;
  patch?: boolean;
  folder?: string;
  extra?: readonly string[];
  pin?: boolean | null;
  scheduler?: string;
}

export interface ExportRow {
  name: string;
  choice: ExportChoice;
  release?: string;
  fleet?: number;
  cluster?: string;
  stage?: string;
  problem?: string;
  meaning?: string;
  templates?: readonly TickRow[];
  extras?: readonly TickRow[];
  containers?: readonly string[];
  namespaces?: readonly string[];
  plain?: Simulation | null;
  pinned?: Simulation | null;
  pins?: readonly PinRow[];
  pin?: boolean;
  price?: string;
  worse?: string;
  files?: readonly FileRow[];
  findings?: readonly FindingRow[];
  written?: readonly string[];
  releases?: readonly [string, string][];
  measure?: MeasureRow | null;
  gang?: GangSheetRow | null;
}

export interface FileRow {
  name: string;
  state: "changed" | "edited" | "new" | "removed" | "unchanged";
  added?: number;
  removed?: number;
  lines?: readonly string[];
  cut?: number;
  fragment?: boolean;
}

export interface FileSize {
  name: string;
  size: number;
}

export interface FilterRow {
  name: string;
  values?: readonly [string, number][];
}

export interface FindingRow {
  severity: string;
  message: string;
  subject?: string;
  advice?: string;
  origin?: string;
  rule?: string;
  help?: readonly string[];
}

export interface Fix {
  title: string;
  brings: string;
  number: number;
}

export interface FixRow {
  text: string;
  line?: number;
}

export interface Fleet {
  kind?: "classes" | "tiles";
  items?: readonly FleetItem[];
  total?: number;
  best?: string;
  heat?: HeatMap;
}

export interface FleetItem {
  id: string;
  label: string;
  nodes?: number;
  fit?: "best" | "worse" | "no" | "unknown";
  pinned?: boolean;
  detail?: string;
  word?: string;
}

export interface Following {
  state?: "off" | "connecting" | "live" | "lost" | "stopped";
  reason?: string;
}

export interface FunnelRow {
  title: string;
  columns?: readonly string[];
  legend?: readonly [string, string][];
  rows?: readonly (readonly string[])[];
  more?: number;
}

export interface GangDrawing {
  size?: number;
  min?: number | null;
  level?: string;
  preferLevel?: string;
  hierarchy?: string;
  queue?: string;
  same?: readonly string[];
}

export interface GangRow {
  size?: number;
  min?: number;
  level?: string;
  hierarchy?: string;
  prefer?: string;
  queue?: string;
  same?: readonly string[];
  sames?: readonly SameOption[];
  link?: string;
  values?: string;
  words?: string;
  frame?: string;
  levels?: readonly LevelRow[];
  prefers?: readonly LevelRow[];
  price?: readonly PriceRow[];
  schedulers?: readonly SchedulerRow[];
  stops?: readonly StopRow[];
  queues?: readonly string[];
  note?: string;
}

export interface GangSheetRow {
  name: string;
  words?: string;
  gangs?: readonly string[];
  scheduler?: string;
  schedulers?: readonly [string, string][];
  queue?: string;
  queues?: readonly string[];
  queueHint?: string;
  pin?: boolean;
  domain?: string;
  noDomain?: string;
  notExpressed?: readonly string[];
  others?: string;
}

export interface GoalRow {
  goal: string;
  label: string;
  best: number;
  number?: string;
  caption?: string;
  atBest?: string;
  meaning?: string;
  bound?: number | null;
  proven?: boolean;
  manifest?: string;
  plain?: string;
  better?: string;
  movable?: boolean;
}

export interface HeatCell {
  rack: string;
  grade: number;
  words: string;
  id?: string;
}

export interface HeatMap {
  title?: string;
  source?: string;
  grades?: readonly string[];
  cells?: readonly HeatCell[];
}

export interface HintRow {
  grade: string;
  text?: string;
  state?: "locked" | "open" | "shown";
  note?: string;
}

export interface JudgedNeed {
  text: string;
  kept?: boolean;
}

export interface Judgement {
  passed: boolean;
  message: string;
  rows?: readonly JudgedNeed[];
}

export interface LayerRow {
  words: string;
  first?: number;
  count?: number;
  problem?: string;
  note?: string;
}

export interface LessonHead {
  number?: string;
  title?: string;
  minutes?: number;
  progress?: string;
  tiles?: readonly Tile[];
}

export interface LessonRow {
  id: string;
  number: string;
  title: string;
  minutes?: number;
  state?: "done" | "new" | "started";
  words?: string;
}

export interface LevelRow {
  level?: string;
  hierarchy?: string;
  label?: string;
  source?: string;
}

export interface Link {
  name: string;
  requests: readonly string[];
  where?: string;
  how?: "together" | "pairwise" | "apart";
  must?: boolean;
}

export interface LinkOption {
  where: string;
  label: string;
  enabled?: boolean;
  reason?: string;
  writable?: boolean;
}

export interface LinkRow {
  field?: string;
  problem?: string;
  note?: string;
  options?: readonly LinkOption[];
}

export interface ListingRow {
  path?: string;
  above?: string | null;
  folders?: readonly string[];
  files?: readonly string[];
  more?: number;
  problem?: string;
}

export interface MeasureRow {
  words: string;
  folder: string;
  yours?: boolean;
}

export interface MovableRow {
  namespaces?: readonly [string, boolean][];
  labels?: string;
  lines?: readonly string[];
}

export interface MoveRow {
  pod: string;
  words: string;
  number?: number;
  lines?: readonly string[];
}

export interface MovesRow {
  sentence?: string;
  svg?: string;
  kinds?: readonly [string, string][];
  steps?: readonly MoveRow[];
  first?: string;
  markdown?: string;
  fix?: number;
  movable?: MovableRow | null;
  seeking?: boolean;
}

export interface OpaqueDeviceConfiguration {
  driver?: string;
  parameters?: Readonly<Record<string, unknown>>;
}

export interface OutgoingRow {
  text: string;
  tone?: "error" | "ok" | "plain" | "warn";
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
  use?: string;
  chip?: string;
  inCluster?: boolean;
  note?: string;
}

export interface PartRow {
  classWords?: string;
  selectors?: readonly SelectorRow[];
  amounts?: readonly AmountRow[];
  keys?: readonly string[];
  drivers?: readonly string[];
}

export interface PendingRow {
  pod: string;
  reason: string;
}

export interface PinOffer {
  text?: string;
  on?: boolean;
  tone?: "error" | "ok" | "plain" | "warn";
}

export interface PinRow {
  text: string;
  reason: string;
  price: string;
}

export interface PlaceRow {
  numa: string;
  root: string;
  chips: readonly ChipRow[];
}

export interface PodsRow {
  workload: string;
  count: number;
  pinned?: number;
  letter?: string;
}

export interface Prediction {
  question?: string;
  picked?: string;
  right?: boolean;
  verdict?: string;
  score?: number;
  asked?: number;
}

export interface PriceRow {
  level: string;
  gangs: string;
  now?: boolean;
}

export interface PrintedRow {
  page?: string;
  number?: number;
}

export interface ProblemRow {
  kind: string;
  name: string;
  text: string;
}

export interface ProgressRow {
  text: string;
  bestText?: string;
}

export interface RailRow {
  value: string;
  chosen?: boolean;
  words?: string;
  boxes?: readonly [string, number, number, number, number, boolean][];
}

export interface RailTable {
  title: string;
  rows?: readonly RailRow[];
  note?: string;
}

export interface RegretRow {
  lines?: readonly string[];
  sources?: readonly string[];
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
  field?: string;
  note?: string;
  parts?: readonly PartRow[];
}

export interface SameOption {
  name: string;
  requests: readonly string[];
  reason?: string;
  inferred?: boolean;
  label?: string;
}

export interface ScenarioRow {
  name: string;
  cells?: readonly string[];
  now?: boolean;
  kept?: boolean;
  title?: string;
}

export interface ScenarioTable {
  columns?: readonly string[];
  rows?: readonly ScenarioRow[];
}

export interface SchedulerRow {
  name: string;
  verdict: "maybe" | "no" | "yes";
  text: string;
  note?: string;
}

export interface SelectorRow {
  text?: string;
  error?: string;
}

export interface Shortfall {
  rule: string;
  subject: string;
  message: string;
  needed?: number;
  available?: number;
  node?: string;
  advice?: string;
  widest?: boolean;
}

export interface Simulation {
  achieves: boolean | null;
  sentence: string;
  detail?: string;
}

export interface SourceRow {
  value: string;
  label: string;
  group?: string;
  detail?: string;
  example?: boolean;
}

export interface StepRow {
  label: string;
  state?: "done" | "later" | "now" | "open";
}

export interface StopRow {
  question: string;
  says: string;
  stops?: boolean;
  text?: string;
}

export interface SuggestionRow {
  title: string;
  detail?: string;
  source?: string;
  number?: number | null;
}

export interface TaskRow {
  kind?: string;
  title?: string;
  text?: string;
  ask?: string;
  primary?: string;
  action?: "check" | "explain" | "next" | "predict";
  waits?: string;
  back?: string;
  next?: string;
}

export interface TestBars {
  title: string;
  bars?: readonly Bar[];
  request?: string;
  needed?: number;
}

export interface TickRow {
  name: string;
  words: string;
  chosen?: boolean;
}

export interface Tile {
  value: string;
  caption: string;
  tone?: "error" | "ok" | "plain" | "warn";
  title?: string;
  lines?: readonly string[];
}

export interface TraceHead {
  title?: string;
  total?: number;
  end?: string;
  goals?: string;
  error?: string;
  working?: string;
  recorded?: number;
  counters?: readonly Tile[];
}

export interface TraceNow {
  step?: number;
  kind?: string;
  device?: string;
  sentence?: string;
  tried?: number;
  rejected?: number;
  givenBack?: number;
  held?: readonly string[];
  unseen?: readonly string[];
  rows?: readonly TraceRow[];
  earlier?: number;
}

export interface TraceRow {
  key: string;
  first: number;
  last: number;
  kind: string;
  position?: string;
  devices?: string;
  result?: string;
  why?: string;
  depth?: number;
  opens?: boolean;
}

export interface UpgradeRow {
  version?: string;
  working?: string;
  sentence?: string;
  compared?: string;
  problem?: string;
  stops?: boolean;
  old?: boolean;
  changes?: readonly ChangesRow[];
}

export interface UseRow {
  kind: string;
  used: number;
  total: number;
  text: string;
  node?: string;
  nodes?: number;
}

export interface WhyNotRow {
  title?: string;
  asked?: boolean;
  sentence?: string;
  node?: string;
  device?: string;
  deviceLines?: readonly string[];
  requests?: readonly TestBars[];
  lines?: readonly string[];
}

export interface WhyRow {
  lines?: readonly string[];
  funnels?: readonly FunnelRow[];
  tried?: readonly string[];
}

export interface WorkloadRow {
  name: string;
  detail: string;
  wanted: number;
  placed?: number;
  more?: string;
  pins?: readonly [string, number][];
  editing?: boolean;
  letter?: string;
  colour?: string;
  ink?: string;
  devices?: Readonly<Record<string, number>>;
  gang?: GangRow | null;
}

export interface ClaimCanvasModel {
  configured: ConfigAnswer;
  gang: GangRow;
  height: number;
  highlight: string;
  history: CanvasHistory;
  mode: string;
  palette: readonly PaletteRow[];
  positions: Readonly<Record<string, [number, number]>>;
  problem: string;
  problems: readonly ProblemRow[];
  read_only: boolean;
  sketch: ClaimSketch;
  status: CanvasStatus;
}

export type ClaimCanvasMessage =
  | { type: "configure"; index: number; requests: readonly string[]; driver: string; text: string }
  | { type: "dismiss-problem" }
  | { type: "make-gang" }
  | { type: "redo" }
  | { type: "set-gang"; gang: GangDrawing | null }
  | { type: "undo" };

export interface ClusterBarModel {
  ask: AskRow;
  busy: string;
  counts: CountsRow;
  details: readonly [string, string][];
  example: boolean;
  findings: readonly FindingRow[];
  follow: Following;
  leaving: string;
  listing: ListingRow;
  meters: readonly UseRow[];
  mode: string;
  modes: readonly [string, string][];
  node_use: readonly UseRow[];
  offer: AskRow;
  pending: readonly PendingRow[];
  problem: string;
  read_at: string;
  refused: string;
  release: string;
  releases: readonly [string, string][];
  source: string;
  sources: readonly SourceRow[];
  summary: string;
  upgrade: UpgradeRow;
  upgrades: readonly [string, string][];
  uploaded: number;
  what_if: readonly string[];
}

export type ClusterBarMessage =
  | { type: "answer"; id: string }
  | { type: "cancel" }
  | { type: "cancel-upgrade" }
  | { type: "check-upgrade"; version: string }
  | { type: "dismiss-example" }
  | { type: "dismiss-problem" }
  | { type: "follow"; on: boolean }
  | { type: "list-folder"; path?: string }
  | { type: "load"; source: string }
  | { type: "mode"; mode: string }
  | { type: "open-drawing"; number: number }
  | { type: "open-pod"; pod: string }
  | { type: "piece"; number: number }
  | { type: "release"; version: string }
  | { type: "show-export" }
  | { type: "show-use" }
  | { type: "sources" }
  | { type: "start-empty" }
  | { type: "undo-what-if" }
  | { type: "upload"; number: number; files: readonly FileSize[] };

export interface HardwareViewModel {
  caption: string;
  empty: string;
  empty_action: string;
  examples: readonly ExampleRow[];
  fleet: Fleet;
  graph: string;
  height: number;
  highlight: string;
  kinds: readonly DriverKindRow[];
  looked: string;
  mode: string;
  node: string;
  pinned: string;
  problem: string;
  show: "best" | "scheduler" | "plain" | "both";
  stale: boolean;
  svg: string;
  trace: TraceHead;
  trace_inside: Readonly<Record<string, readonly TraceRow[]>>;
  trace_links: boolean;
  trace_now: TraceNow;
  trace_predict: boolean;
  trace_prediction: Prediction;
  trace_step: number;
  trace_svg: string;
  unfolded: boolean;
  width: number;
}

export type HardwareViewMessage =
  | { type: "by-example"; devices: readonly string[] }
  | { type: "close-graph" }
  | { type: "dismiss-problem" }
  | { type: "graph" }
  | { type: "next-allocation" }
  | { type: "node"; name: string; device?: string }
  | { type: "open-trace-row"; first: number; last: number }
  | { type: "pin"; node: string }
  | { type: "predict"; device: string }
  | { type: "sample" }
  | { type: "set-kind"; driver: string; kind: string }
  | { type: "stop-trace" }
  | { type: "take-example"; number: number; add?: boolean };

export interface LessonPictureModel {
  caption: string;
  empty: string;
  empty_action: string;
  examples: readonly ExampleRow[];
  fleet: Fleet;
  graph: string;
  height: number;
  highlight: string;
  kinds: readonly DriverKindRow[];
  looked: string;
  mode: string;
  node: string;
  only: string;
  picked: readonly string[];
  picks: boolean;
  pinned: string;
  problem: string;
  show: "best" | "scheduler" | "plain" | "both";
  stale: boolean;
  svg: string;
  trace: TraceHead;
  trace_inside: Readonly<Record<string, readonly TraceRow[]>>;
  trace_links: boolean;
  trace_now: TraceNow;
  trace_predict: boolean;
  trace_prediction: Prediction;
  trace_step: number;
  trace_svg: string;
  unfolded: boolean;
  width: number;
}

export type LessonPictureMessage =
  | { type: "by-example"; devices: readonly string[] }
  | { type: "close-graph" }
  | { type: "dismiss-problem" }
  | { type: "graph" }
  | { type: "next-allocation" }
  | { type: "node"; name: string; device?: string }
  | { type: "open-trace-row"; first: number; last: number }
  | { type: "pin"; node: string }
  | { type: "predict"; device: string }
  | { type: "sample" }
  | { type: "set-kind"; driver: string; kind: string }
  | { type: "stop-trace" }
  | { type: "take-example"; number: number; add?: boolean };

export interface LessonViewModel {
  ask: AskRow;
  busy: string;
  can_leave: boolean;
  explained: ExplainedRow;
  head: LessonHead;
  hints: readonly HintRow[];
  judged: Judgement;
  judged_stale: boolean;
  lessons: readonly LessonRow[];
  mode: string;
  picked: readonly string[];
  problem: string;
  saved: string;
  steps: readonly StepRow[];
  task: TaskRow;
  terms: Readonly<Record<string, string>>;
  yaml: string;
}

export type LessonViewMessage =
  | { type: "answer"; id: string }
  | { type: "check-drawing" }
  | { type: "dismiss-problem" }
  | { type: "explain"; text: string }
  | { type: "go-to-step"; step: number }
  | { type: "open-lesson"; id: string }
  | { type: "predict-devices" }
  | { type: "show-hint" }
  | { type: "show-lessons" }
  | { type: "start-over" };

export interface PlanViewModel {
  answer: AnswerRow;
  badges: Readonly<Record<string, BadgeRow>>;
  can_redo: boolean;
  can_undo: boolean;
  chosen: Readonly<Record<string, string>>;
  claim_answer: ClaimAnswer;
  claim_fixes: readonly FixRow[];
  claim_number: number;
  claim_text: string;
  compare: CompareRow;
  devices: DeviceTable;
  export: ExportRow;
  export_terms: Readonly<Record<string, string>>;
  findings: readonly FindingRow[];
  fleet_adding: AddingRow;
  fleet_answer: AnswerRow;
  fleet_bars: BarTable;
  fleet_by: string;
  fleet_card: CardRow;
  fleet_chosen: string;
  fleet_domain: string;
  fleet_domain_card: DomainCard;
  fleet_domains: DomainTable;
  fleet_filters: readonly string[];
  fleet_gang: string;
  fleet_heat: HeatMap;
  fleet_kind: string;
  fleet_layers: readonly LayerRow[];
  fleet_picture: boolean;
  fleet_rails: readonly RailTable[];
  fleet_scenarios: ScenarioTable;
  fleet_side: string;
  fleet_terms: Readonly<Record<string, string>>;
  fleet_workloads: readonly WorkloadRow[];
  goals: readonly GoalRow[];
  goals_changed: boolean;
  highlight: string;
  kept: number;
  listing: ListingRow;
  mode: string;
  moves: MovesRow;
  moves_kind: string;
  moves_width: number;
  nodes: readonly FleetItem[];
  outgoing: readonly OutgoingRow[];
  pin_offer: PinOffer;
  printed: PrintedRow;
  problem: string;
  reasons: readonly Shortfall[];
  regret: RegretRow;
  suggestions: readonly SuggestionRow[];
  why: WhyRow;
  why_not: WhyNotRow;
  yaml: string;
  yaml_marks: Readonly<Record<string, string>>;
}

export type PlanViewMessage =
  | { type: "add-found-nodes" }
  | { type: "add-layer"; change: string; subject?: string; count?: number }
  | { type: "add-workload"; source?: string }
  | { type: "apply-suggestion"; number: number }
  | { type: "cancel" }
  | { type: "cancel-export" }
  | { type: "choose-export"; release?: string | null; apiVersion?: string | null; kind?: string | null; namespace?: string | null; example?: string | null; workload?: string | null; templates?: readonly string[] | null; container?: string | null; patch?: boolean | null; folder?: string | null; extra?: readonly string[] | null; pin?: boolean | null; scheduler?: string | null }
  | { type: "choose-gang-export"; name?: string | null; scheduler?: string | null; queue?: string | null }
  | { type: "choose-kept"; names: readonly string[] }
  | { type: "close-export" }
  | { type: "dismiss-problem" }
  | { type: "edit-claim"; text: string; number: number }
  | { type: "find-nodes" }
  | { type: "fix-claim"; text?: string | null; number?: number }
  | { type: "improve-fleet" }
  | { type: "keep-for-compare"; name?: string }
  | { type: "keep-scenario"; name?: string }
  | { type: "list-folder"; path?: string }
  | { type: "look-at"; node: string; device?: string }
  | { type: "make-gang"; name: string }
  | { type: "mode"; mode: string }
  | { type: "move-pod"; name: string; fromNode: string; toNode: string }
  | { type: "open-workload"; name: string }
  | { type: "order-goals"; goals?: readonly string[] }
  | { type: "pin-pods"; name: string; node: string; pods?: number }
  | { type: "print"; number?: number }
  | { type: "redo" }
  | { type: "remove-kept"; name: string }
  | { type: "remove-layer"; number: number; count?: number }
  | { type: "remove-node-type"; node: string }
  | { type: "remove-workload"; name: string }
  | { type: "rename-kept"; name: string; to: string }
  | { type: "rename-workload"; name: string; to: string }
  | { type: "restore-kept"; name: string }
  | { type: "set-gang"; name: string; gang: GangDrawing | null }
  | { type: "set-movable"; namespaces: readonly string[]; labels?: string }
  | { type: "set-new-domains"; hierarchy: string; level: string; domains: number; nodes: number }
  | { type: "set-node-type"; node: string; cost?: string; places?: string }
  | { type: "set-replicas"; name: string; replicas: number }
  | { type: "show-difference" }
  | { type: "show-export" }
  | { type: "stop-finding" }
  | { type: "undo" }
  | { type: "use-measured"; withLink: number; withoutLink: number }
  | { type: "write-export"; overwrite?: boolean; allowWorse?: boolean; without?: readonly string[] }
  | { type: "write-measure" };

export interface SessionViewModel {
  mode: string;
  problem: string;
}

export type SessionViewMessage = never;
