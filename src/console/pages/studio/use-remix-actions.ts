import { useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useToasts } from '../../components/toasts.tsx';
import type { UsableModel } from '../../data/usable-models-query.ts';
import { draftFromVideo } from './draft-from-video.ts';
import { controlsFor, type Draft, type ImageInput } from './draft-type-and-fit-to-model.ts';
import { extractLastFrame } from './extract-last-frame.ts';
import type { RemixActions } from './remix-buttons.tsx';
import { saveDraft } from './saved-templates-and-drafts.ts';

const MAX_SEED = 2_147_483_647;

/** Fills the form from earlier videos. The form that is replaced is kept among the drafts. */
export function useRemixActions(
  draft: Draft,
  models: readonly UsableModel[],
  replace: (draft: Draft) => void,
): RemixActions {
  const { t } = useTranslation('studio');
  const queries = useQueryClient();
  const toasts = useToasts();

  /** Runs an action that makes a draft; where `id` is focused shows what comes next. */
  const fill = (make: () => Promise<Draft>, id: 'prompt' | 'generate'): void => {
    make().then(
      (next) => {
        saveDraft('drafts', draft);
        replace(next);
        window.scrollTo({ top: 0, behavior: 'smooth' });
        // After the form has the new values: a button is enabled by them.
        setTimeout(() => document.getElementById(id)?.focus({ preventScroll: true }), 100);
      },
      (error: Error) => toasts.error(error.message === '' ? t('playFailed') : error.message),
    );
  };
  const fromVideo = async (taskId: string): Promise<Draft> => {
    const { draft: next, lostPictures } = await draftFromVideo(queries, taskId);
    if (lostPictures > 0) toasts.error(t('lostPictures'));
    return { ...next, compare: [] };
  };
  /** The draft with a picture as its first frame, in place of the one it had. */
  const beginningWith = (base: Draft, picture: ImageInput): Draft => {
    const model = models.find(({ id }) => id === base.model);
    if (controlsFor(model).pictures.max === 0) throw new Error(t('noPictures'));
    return { ...base, pictures: [picture, ...base.pictures.slice(1)] };
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
        return beginningWith({ ...next, pictures: [] }, await extractLastFrame(queries, taskId));
      }, 'generate'),
    takeLastFrame: (taskId) =>
      fill(async () => beginningWith(draft, await extractLastFrame(queries, taskId)), 'prompt'),
  };
}
