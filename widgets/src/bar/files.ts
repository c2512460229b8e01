// Files on their way to Python: how far they are, what is wrong with them, and how to give them up.

import { useCallback, useEffect, useRef, useState } from "react";
import { counted } from "../view/text";
import { type BarChannel, useChannel } from "./model";

/** Jupyter closes the connection on a message of more than 10 MiB. */
export const PIECE = 2 * 1024 * 1024;
/** What is taken from the browser at once; the same as dra_lab.widgets.cluster_opening.MAX_UPLOAD_BYTES. */
export const MAX_BYTES = 256 * 1024 * 1024;
const ENDINGS = /\.(json|ya?ml|tar\.gz|tgz|xml|txt|html)$/i;

interface ChosenFiles {
  readonly files: readonly File[];
  /** Why nothing is sent, or what was left out; "" when all is well. */
  readonly problem: string;
}

/**
 * Choose the files that can be read; others are left out by name, and too much at once is refused with what to do
 * instead.
 */
export function chooseFiles(list: Iterable<File>): ChosenFiles {
  const all = [...list];
  const files = all.filter((file) => ENDINGS.test(file.name));
  const others = all.filter((file) => !ENDINGS.test(file.name)).map((file) => file.name);
  const bytes = files.reduce((sum, file) => sum + file.size, 0);
  if (bytes > MAX_BYTES) {
    const size = `${counted(files.length, "file")} of ${megabytes(bytes)} MB in all`;
    return {
      files: [],
      problem: `${size} is more than the 256 MB that are sent. Save it beside the notebook and give its path.`,
    };
  }
  if (!files.length)
    return {
      files: [],
      problem: `${others.join(", ") || "Nothing"} is no .json, .yaml, .tar.gz, .xml, .txt or .html file.`,
    };
  return {
    files,
    problem: others.length
      ? `Left out, because they are not JSON, YAML, XML, HTML, text or an archive: ${others.join(", ")}`
      : "",
  };
}

let drops = 0;

/**
 * Send files in pieces; `told` gets how far it is, "" at the end, and `failed` why a file cannot be read.
 *
 * A drop that another one has overtaken, or that was given up, stops by itself. Returns what gives it up.
 */
function sendFiles(
  channel: BarChannel,
  files: readonly File[],
  told: (words: string) => void,
  failed: (why: string) => void,
): () => void {
  drops += 1;
  const number = drops;
  const all = new Blob([...files]);
  let sent = 0;
  let stopped = false;
  const next = async () => {
    if (stopped || number !== drops) return;
    const piece = all.slice(sent, sent + PIECE);
    try {
      const bytes = await piece.arrayBuffer();
      if (stopped || number !== drops) return;
      sent += bytes.byteLength;
      channel.send({ type: "piece", number }, bytes);
      if (all.size > PIECE)
        told(`Sending ${counted(files.length, "file")}: ${megabytes(sent)} of ${megabytes(all.size)} MB`);
      if (sent >= all.size) end();
    } catch (error) {
      end();
      failed(`The files cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  const stopListening = channel.on("uploaded", () => {
    if (!stopped && sent > 0 && channel.get("uploaded") >= sent) void next();
  });
  const end = () => {
    stopped = true;
    stopListening();
    told("");
  };
  channel.send({ type: "upload", number, files: files.map((file) => ({ name: file.name, size: file.size })) });
  void next();
  return end;
}

const megabytes = (bytes: number): string => (bytes / 1024 / 1024).toFixed(0);

/**
 * Take files that are dropped on the planner that a view is part of, or on the view alone in a cell; returns what ends
 * it.
 *
 * The listeners are on the document, since a view does not know the planner around it before it is put there; they run
 * before JupyterLab's own, which would upload the files.
 */
function takeDrops(root: () => Element | null, take: (files: FileList) => void): () => void {
  const around = () => root()?.closest(".dra-lab") ?? root();
  const mark = (now: boolean) => around()?.classList.toggle("is-over", now);
  const acts: Readonly<Record<string, (event: DragEvent) => void>> = {
    dragover: () => mark(true),
    dragleave: (event) => mark(around()?.contains(event.relatedTarget as Node | null) ?? false),
    drop: (event) => {
      mark(false);
      if (event.dataTransfer) take(event.dataTransfer.files);
    },
  };
  const onDrag = (event: DragEvent) => {
    if (!event.dataTransfer?.types.includes("Files") || !around()?.contains(event.target as Node)) return;
    event.preventDefault();
    event.stopPropagation();
    acts[event.type]?.(event);
  };
  const names = ["dragover", "dragleave", "drop"] as const;
  for (const name of names) document.addEventListener(name, onDrag, true);
  return () => {
    for (const name of names) document.removeEventListener(name, onDrag, true);
  };
}

export interface Drop {
  /** How far the files are, in words; "" when none are on their way. */
  readonly sending: string;
  readonly problem: string;
  take(files: FileList): void;
  forget(): void;
}

/** `asked` is what the view waits for: its own files, and not those of another view. */
export function useDrop(root: { current: Element | null }, asked: { current: string }): Drop {
  const channel = useChannel();
  const [sending, setSending] = useState("");
  const [problem, setProblem] = useState("");
  const stop = useRef<() => void>(() => undefined);
  const take = useCallback(
    (list: FileList) => {
      // A lesson has a cluster of its own, and the person's plan stays as it is meanwhile.
      if (channel.get("mode") === "learn") return;
      stop.current();
      asked.current = "files";
      const chosen = chooseFiles(list);
      setProblem(chosen.problem);
      if (chosen.files.length) stop.current = sendFiles(channel, chosen.files, setSending, setProblem);
    },
    [channel, asked],
  );
  const forget = useCallback(() => {
    stop.current();
    setProblem("");
    setSending("");
  }, []);
  useEffect(() => takeDrops(() => root.current?.closest(".dra-widget") ?? null, take), [root, take]);
  useEffect(() => () => stop.current(), []);
  return { sending, problem, take, forget };
}
