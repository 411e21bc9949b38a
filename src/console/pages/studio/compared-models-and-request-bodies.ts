import type { UsableModel } from '../../data/usable-models-query.ts';
import type { VideoBody } from '../../data/video-queries.ts';
import { toBody } from './draft-request-body-conversion.ts';
import { type Draft, fitDraftToModel } from './draft-type-and-fit-to-model.ts';
import { requestPathsFor } from './form-field-request-paths.ts';

export const MAX_COMPARED = 4;

/** The models a draft is made with, the one of the form first; models that are gone are left out. */
export function modelsOfDraft(draft: Draft, models: readonly UsableModel[]): readonly UsableModel[] {
  const ids = [...new Set([draft.model, ...draft.compare])];
  return ids.flatMap((id) => models.find((model) => model.id === id && model.permitted) ?? []).slice(0, MAX_COMPARED);
}

/** The request of a draft for each of the models, made to fit what each can do; undefined where the draft is no request. */
export function bodiesFor(draft: Draft, models: readonly UsableModel[]): readonly VideoBody[] | undefined {
  try {
    return models.map((model) => toModelBody(draft, model));
  } catch {
    return undefined;
  }
}

/** @throws SyntaxError where the further parameters are not a JSON object */
export function toModelBody(draft: Draft, model: UsableModel): VideoBody {
  const fitted = model.id === draft.model ? draft : fitDraftToModel(draft, model).draft;
  return toBody(fitted, requestPathsFor(model)) as VideoBody;
}

/** Adds a model to the comparison or takes it out; the first stays the model of the form. */
export function toggleCompared(draft: Draft, id: string): Draft['compare'] {
  if (draft.compare.includes(id)) return draft.compare.filter((each) => each !== id);
  return id === draft.model || draft.compare.length >= MAX_COMPARED - 1 ? draft.compare : [...draft.compare, id];
}
