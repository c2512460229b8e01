import type { PlanViewMessage, PlanViewModel } from "../generated/models";
import { hooksOf } from "../view/model";

export const { useChannel, useTrait } = hooksOf<PlanViewModel, PlanViewMessage>();
