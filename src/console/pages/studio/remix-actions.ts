import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useToasts } from '../../components/toasts.tsx';
import { type UsableModel, usableModelsQuery } from '../../data/models.ts';
import { videoQuery } from '../../data/videos.ts';
import type { RemixActions } from './current-video.tsx';
import {
  controlsFor,
  type Draft,
  EMPTY_DRAFT,
  fitDraftToModel,
  fromBody,
  type ImageInput,
  requestPathsFor,
  saveDraft,
} from './draft.ts';

const MAX_SEED = 2_147_483_647;

/** Fills the form from earlier videos. The replaced form is stored among the drafts. */
export function useRemixActions(
  draft: Draft,
  models: readonly UsableModel[],
  replace: (draft: Draft) => void,
): RemixActions {
  const { t } = useTranslation('studio');
  const queries = useQueryClient();
  const toasts = useToasts();

  /** Applies a new draft and moves the focus to the element with the given id. */
  const fill = (make: () => Promise<Draft>, id: 'prompt' | 'generate'): void => {
    make().then(
      (next) => {
        saveDraft('drafts', draft);
        replace(next);
        window.scrollTo({ top: 0, behavior: 'smooth' });
        // Waits until the form has the new values, because they may enable the button.
        setTimeout(() => document.getElementById(id)?.focus({ preventScroll: true }), 100);
      },
      (error: Error) => toasts.error(error.message === '' ? t('playFailed') : error.message),
    );
  };
  const fromVideo = async (taskId: string): Promise<Draft> => {
    const { draft: next, lostImages } = await draftFromVideo(queries, taskId);
    if (lostImages > 0) toasts.error(t('lostImages'));
    return { ...next, compare: [] };
  };
  /** The draft with a new first frame, replacing any existing one. */
  const beginningWith = (base: Draft, image: ImageInput): Draft => {
    const model = models.find(({ id }) => id === base.model);
    if (controlsFor(model).images.max === 0) throw new Error(t('noImages'));
    return { ...base, images: [image, ...base.images.slice(1)] };
  };
  return {
    remix: (taskId) => fill(() => fromVideo(taskId), 'prompt'),
    vary: (taskId) =>
      fill(async () => {
        const next = await fromVideo(taskId);
        const hasSeed = controlsFor(models.find(({ id }) => id === next.model)).seed;
        return { ...next, seed: hasSeed ? String(Math.floor(Math.random() * MAX_SEED)) : '' };
      }, 'generate'),
    extend: (taskId) =>
      fill(async () => {
        const next = await fromVideo(taskId);
        return beginningWith({ ...next, images: [] }, await extractLastFrame(queries, taskId));
      }, 'generate'),
    takeLastFrame: (taskId) =>
      fill(async () => beginningWith(draft, await extractLastFrame(queries, taskId)), 'prompt'),
  };
}

/** The form as submitted for this video, as far as it was stored, adapted to the model's current capabilities. */
async function draftFromVideo(
  queries: QueryClient,
  taskId: string,
): Promise<{ readonly draft: Draft; readonly lostImages: number }> {
  const [video, models] = await Promise.all([
    queries.fetchQuery(videoQuery(taskId)),
    queries.fetchQuery(usableModelsQuery),
  ]);
  const model = models.find(({ id }) => id === video.model);
  const { draft, lostImages } = fromBody(video.request, requestPathsFor(model), EMPTY_DRAFT);
  const named = { ...draft, model: video.model, prompt: draft.prompt || video.prompt };
  return { draft: model === undefined ? named : fitDraftToModel(named, model).draft, lostImages };
}

const QUALITY = 0.92;
/** Offset from the end at which every browser still shows a frame. */
const END_MARGIN_SECONDS = 0.04;

/**
 * Captures the last frame of a finished video as an image, in the browser.
 *
 * @throws Error if the file cannot be played
 */
async function extractLastFrame(queries: QueryClient, taskId: string): Promise<ImageInput> {
  const { play_url } = await queries.fetchQuery(videoQuery(taskId));
  const video = document.createElement('video');
  video.muted = true;
  video.preload = 'auto';
  await once(video, 'loadedmetadata', () => {
    video.src = play_url;
  });
  await once(video, 'seeked', () => {
    video.currentTime = Math.max(0, video.duration - END_MARGIN_SECONDS);
  });
  const canvas = document.createElement('canvas');
  canvas.width = video.videoWidth;
  canvas.height = video.videoHeight;
  canvas.getContext('2d')?.drawImage(video, 0, 0);
  video.removeAttribute('src');
  return { src: canvas.toDataURL('image/jpeg', QUALITY), name: `${taskId}.jpg` };
}

/** Resolves with the video event that `act` triggers; rejects on an error event. */
function once(video: HTMLVideoElement, event: string, act: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    video.addEventListener(event, () => resolve(), { once: true });
    video.addEventListener('error', () => reject(new Error(video.error?.message ?? '')), { once: true });
    act();
  });
}
