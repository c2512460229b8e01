import type { ClusterBarMessage, ClusterBarModel } from "../generated/models";
import { type Channel, hooksOf } from "../view/model";

export type BarChannel = Channel<ClusterBarModel, ClusterBarMessage>;
export const { useChannel, useTrait } = hooksOf<ClusterBarModel, ClusterBarMessage>();
