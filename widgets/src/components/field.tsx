// A row of a form: what it is, its control, and the field of the API that it writes.
import { Fragment, type ReactNode } from "react";

interface Props {
  label: string;
  children: ReactNode;
  /** The field of the API that it writes. */
  api?: string | undefined;
  note?: ReactNode;
}

export function Field({ label, children, api, note }: Props) {
  return (
    <div className="dra-field">
      <label>
        <span className="dra-label">{label}</span>
        <span className="dra-control">{children}</span>
      </label>
      <Api field={api} />
      {note && <div className="dra-note">{note}</div>}
    </div>
  );
}

/** A row that holds several controls. */
export function Group({ label, children, api, note, name = label }: Props & { name?: string }) {
  return (
    <div className="dra-field" role="group" aria-label={name}>
      <span className="dra-label" aria-hidden="true">
        {label}
      </span>
      <div className="dra-control dra-row">{children}</div>
      <Api field={api} />
      {note && <div className="dra-note">{note}</div>}
    </div>
  );
}

const Api = ({ field }: { field?: string | undefined }) =>
  field ? (
    <code className="dra-api" title={`Writes ${field}`}>
      {field.split(".").map((part, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a path never move
        <Fragment key={i}>
          {i > 0 && (
            <>
              .<wbr />
            </>
          )}
          {part}
        </Fragment>
      ))}
    </code>
  ) : null;

export function Wrong({ children }: { children: ReactNode }) {
  return <span className="dra-wrong">{children}</span>;
}
