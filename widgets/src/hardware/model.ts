import type { HardwareViewMessage, HardwareViewModel } from "../generated/models";
import { hooksOf } from "../view/model";

export const { useChannel, useTrait } = hooksOf<HardwareViewModel, HardwareViewMessage>();
