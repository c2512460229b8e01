import { late } from "./view/late";

export default late(() => import("./bar/cluster_bar"));
