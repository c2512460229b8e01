import type { LessonViewMessage, LessonViewModel } from "../generated/models";
import { hooksOf } from "../view/model";

export const { useChannel, useTrait } = hooksOf<LessonViewModel, LessonViewMessage>();
