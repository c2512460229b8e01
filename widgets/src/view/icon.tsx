// Kind is shape (GPU square, NIC pill, CPU circle, memory bar, other hexagon), on the canvas as in every picture.
const STROKE = { fill: "none", stroke: "currentColor", strokeWidth: 1.6 } as const;

function shape(kind: string) {
  switch (kind) {
    case "gpu":
      return <rect x="2" y="2" width="12" height="12" rx="1.5" {...STROKE} />;
    case "nic":
      return <rect x="0.9" y="4.2" width="14.2" height="7.6" rx="3.8" {...STROKE} />;
    case "cpu":
      return <circle cx="8" cy="8" r="6.2" {...STROKE} />;
    default:
      return <path d="M4.6 2.2h6.8L14.8 8l-3.4 5.8H4.6L1.2 8z" {...STROKE} strokeLinejoin="round" />;
  }
}

export function KindIcon({ kind }: { kind: string }) {
  return (
    <svg className="dra-icon" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
      {shape(kind)}
    </svg>
  );
}

const PATHS = {
  undo: "M6 4 2.8 7.2 6 10.4M3 7.2h6.2a3.6 3.6 0 0 1 0 7.2H6.5",
  redo: "M10 4l3.2 3.2L10 10.4M13 7.2H6.8a3.6 3.6 0 0 0 0 7.2h2.7",
  fit: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
  tidy: "M3 3h4v3H3zM9 10h4v3H9zM5 6v3.5a2 2 0 0 0 2 2h2",
  clear: "M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5l.6 8.5h5.8l.6-8.5",
  cross: "M4 4l8 8M12 4l-8 8",
  lock: "M4.2 7.4h7.6v5.4H4.2zM5.7 7.2V5.4a2.3 2.3 0 0 1 4.6 0v1.8",
  warn: "M8 2.4 14.4 13.4H1.6zM8 6.4v3.4M8 11.4v.6",
} as const;

export function Icon({ name, filled = false }: { name: keyof typeof PATHS; filled?: boolean }) {
  return (
    <svg className="dra-icon" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
      <path
        d={PATHS[name]}
        fill={filled ? "currentColor" : "none"}
        stroke="currentColor"
        strokeWidth="1.5"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}

/** Must is a lock, prefer a tilde. */
export function Strength({ must }: { must: boolean }) {
  return must ? (
    <Icon name="lock" filled />
  ) : (
    <span className="dra-tilde" aria-hidden="true">
      ~
    </span>
  );
}
