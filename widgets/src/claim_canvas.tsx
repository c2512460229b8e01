// ClaimCanvas, the browser half: what a person draws. Python decides what it means.
import "@xyflow/react/dist/base.css";
import "./claim_canvas.css";
import type { Render } from "@anywidget/types";
import { createRoot } from "react-dom/client";
import { Canvas } from "./canvas/canvas";
import type { ClaimCanvasModel } from "./generated/models";
import { suppressShortcuts } from "./jupyter";
import { Life } from "./view/life";

const render: Render<ClaimCanvasModel> = ({ model, el }) => {
  el.classList.add("dra-widget");
  const free = suppressShortcuts(el);
  const root = createRoot(el);
  const life = new Life(model as never, el);
  root.render(<Canvas model={model} life={life} />);
  return () => {
    life.end();
    free();
    root.unmount();
  };
};
export default { render };
