// ClaimCanvas, the browser half: what a person draws. Python decides what it means.
import "@xyflow/react/dist/base.css";
import "../claim_canvas.css";
import type { Context } from "../view/late";
import { mount } from "../view/widget";
import { Canvas } from "./canvas";

export const render = (context: Context) => mount(context, "", Canvas);
