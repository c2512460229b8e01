// Files on their way to Python: how far they are, what is wrong with them, and how to give them up.
import { useCallback, useEffect, useRef, useState } from "react";
import { chooseFiles, sendFiles, takeDrops } from "./files";
import { useChannel } from "./model";

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
