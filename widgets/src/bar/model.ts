import type { ClusterBarMessage, ClusterBarModel } from "../generated/models";
import type { Channel } from "../view/channel";
import { hooksOf } from "../view/use_model";

export type BarChannel = Channel<ClusterBarModel, ClusterBarMessage>;
export const { useChannel, useTrait } = hooksOf<ClusterBarModel, ClusterBarMessage>();
