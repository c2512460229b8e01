import { late } from "./view/late";

export default late(() => import("./plan/plan_view"));
