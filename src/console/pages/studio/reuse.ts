import type { QueryClient } from '@tanstack/react-query';
import { modelsQuery } from '../../data/models.ts';
import { videoQuery } from '../../data/videos.ts';
import { type Draft, EMPTY_DRAFT, fit } from './draft.ts';
import { fromBody } from './wire-fields.ts';

/** The form as it was when this video was started, as far as that is kept; made to fit what the model can do today. */
export async function toDraftAgain(
  queries: QueryClient,
  taskId: string,
): Promise<{ readonly draft: Draft; readonly lostPictures: number }> {
  const [video, models] = await Promise.all([queries.fetchQuery(videoQuery(taskId)), queries.fetchQuery(modelsQuery)]);
  const model = models.find(({ id }) => id === video.model);
  const { draft, lostPictures } = fromBody(video.request, model?.vendor ?? '', EMPTY_DRAFT);
  const named = { ...draft, model: video.model, prompt: draft.prompt || video.prompt };
  return { draft: model === undefined ? named : fit(named, model).draft, lostPictures };
}
