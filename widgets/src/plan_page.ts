// The program of a plan's page (dra_lab/pictures/plan_page.js); it runs when the page is there.
import { openPage } from "./page/plan_page";

openPage(document);
