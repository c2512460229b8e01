import type { ClaimCanvasMessage, ClaimCanvasModel } from "../generated/models";
import { hooksOf } from "../view/use_model";

export const { useChannel, useTrait } = hooksOf<ClaimCanvasModel, ClaimCanvasMessage>();
