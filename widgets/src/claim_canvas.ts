import { late } from "./view/late";

export default late(() => import("./canvas/claim_canvas"));
