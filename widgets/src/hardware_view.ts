import { late } from "./view/late";

export default late(() => import("./hardware/hardware_view"));
