import "./hardware_view.css";
import type { Render } from "@anywidget/types";

const render: Render = ({ el }) => {
  el.classList.add("dra-lab");
};
export default { render };
