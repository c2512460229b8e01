import { late } from "./view/late";

export default late(() => import("./canvas/canvas"));
