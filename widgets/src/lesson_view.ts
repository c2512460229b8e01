import { late } from "./view/late";

export default late(() => import("./lesson/lesson_view"));
