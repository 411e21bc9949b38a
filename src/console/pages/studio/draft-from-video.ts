import type { QueryClient } from '@tanstack/react-query';
import { usableModelsQuery } from '../../data/usable-models-query.ts';
import { videoQuery } from '../../data/video-queries.ts';
import { fromBody } from './draft-request-body-conversion.ts';
import { type Draft, EMPTY_DRAFT, fitDraftToModel } from './draft-type-and-fit-to-model.ts';
import { requestPathsFor } from './form-field-request-paths.ts';

/** The form as it was when this video was started, as far as that is kept; made to fit what the model can do today. */
export async function draftFromVideo(
  queries: QueryClient,
  taskId: string,
): Promise<{ readonly draft: Draft; readonly lostPictures: number }> {
  const [video, models] = await Promise.all([
    queries.fetchQuery(videoQuery(taskId)),
    queries.fetchQuery(usableModelsQuery),
  ]);
  const model = models.find(({ id }) => id === video.model);
  const { draft, lostPictures } = fromBody(video.request, requestPathsFor(model), EMPTY_DRAFT);
  const named = { ...draft, model: video.model, prompt: draft.prompt || video.prompt };
  return { draft: model === undefined ? named : fitDraftToModel(named, model).draft, lostPictures };
}
