// ClaimCanvas, the browser half: what a person draws. Python decides what it means.
import "@xyflow/react/dist/base.css";
import "./claim_canvas.css";
import type { Render } from "@anywidget/types";
import { createRoot } from "react-dom/client";
import { Canvas } from "./canvas/canvas";
import type { ClaimCanvasModel } from "./generated/models";
import { suppressShortcuts } from "./jupyter";

const render: Render<ClaimCanvasModel> = ({ model, el }) => {
  el.classList.add("dra-widget");
  const free = suppressShortcuts(el);
  const root = createRoot(el);
  root.render(<Canvas model={model} />);
  return () => {
    free();
    root.unmount();
  };
};
export default { render };
