import { type QueryClient, useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import type { VideoInput } from '../../../contract/generation-ways.ts';
import { randomId } from '../../../contract/random-id.ts';
import { isUnreachable, toErrorMessage } from '../../components/error-alert.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { inputTypeOf } from '../../data/media-types.ts';
import {
  CHANGE_OPERATIONS,
  type ChangeOperation,
  canDo,
  modelTitle,
  selfQuery,
  type UsableModel,
  usableModelsQuery,
} from '../../data/self.ts';
import { submitVideo, type VideoBody, videoQuery, videosQuery } from '../../data/videos.ts';
import { NEWEST_VIDEOS_COUNT } from '../../page-start.ts';
import {
  type ChangeDraft,
  controlsFor,
  type Draft,
  EMPTY_DRAFT,
  fitDraftToModel,
  fromBody,
  requestPathsFor,
  saveDraft,
  toModelBody,
} from './draft.ts';
import { addInput, checkInputs, rolesFor } from './inputs.ts';
import { addRecentModels, cheapestModel } from './models.ts';
import type { InputUploads } from './uploads.ts';

/** Actions based on a video. `vary` and `retry` submit at once, for the price of the video itself. */
export interface RemixActions {
  /** Starts the same request with a different seed. */
  readonly vary: (taskId: string) => void;
  /** Starts the same request again. */
  readonly retry: (taskId: string) => void;
  /** Same prompt and parameters, to be edited. */
  readonly remix: (taskId: string) => void;
  /** Edits or extends the video, with a model that can. */
  readonly change: (taskId: string, operation: ChangeOperation) => void;
  /** Uses the last frame as the first frame of the current form. */
  readonly takeLastFrame: (taskId: string) => void;
  /** Uses a file as an input of the current form. */
  readonly takeFile: (fileId: string) => void;
  /** Operations that at least one model offers. */
  readonly offered: readonly ChangeOperation[];
}

const MAX_SEED = 2_147_483_647;

interface RemixOptions {
  readonly draft: Draft;
  readonly models: readonly UsableModel[];
  readonly replace: (draft: Draft) => void;
  readonly change: ChangeDraft;
  readonly uploads: Pick<InputUploads, 'add'>;
  readonly submit: (bodies: readonly VideoBody[]) => void;
  /** Explains a change of the form. */
  readonly onNotice: (text: string) => void;
}

/** Fills the form from earlier videos. The replaced form is stored among the drafts. */
export function useRemixActions(options: RemixOptions): RemixActions {
  const { draft, models, replace, change, uploads, submit, onNotice } = options;
  const { t } = useTranslation(['studio', 'app']);
  const queries = useQueryClient();
  const toasts = useToasts();
  const find = (id: string): UsableModel | undefined => models.find((model) => model.id === id);

  const focusForm = (id: 'prompt' | 'generate'): void => {
    window.scrollTo({ top: 0, behavior: 'smooth' });
    // Waits until the form has the new values, because they may enable the button.
    setTimeout(() => document.getElementById(id)?.focus({ preventScroll: true }), 100);
  };
  const onError = (error: Error): void =>
    toasts.error(error.message === '' ? t('playFailed') : toErrorMessage(error, t('app:unreachable')));
  /** Applies a new draft and moves the focus to the prompt. */
  const fill = (make: () => Promise<Draft>): void => {
    make().then((next) => {
      saveDraft('drafts', draft);
      replace(next);
      focusForm('prompt');
    }, onError);
  };
  const fromVideo = async (taskId: string): Promise<Draft> => {
    const { draft: next, lostInputs } = await draftFromVideo(queries, taskId);
    onNotice(lostInputs > 0 ? t('lostInputs') : '');
    return next;
  };
  const restart = async (taskId: string, hasNewSeed: boolean): Promise<void> => {
    const { draft: next, body, lostInputs } = await repeatVideo(queries, taskId, hasNewSeed);
    onNotice(lostInputs > 0 ? t('lostInputs') : '');
    if (body === undefined) fill(async () => next);
    else submit([body]);
  };
  const startChange = async (taskId: string, operation: ChangeOperation): Promise<Draft> => {
    const video = await queries.fetchQuery(videoQuery(taskId));
    const own = find(video.model);
    const model = own !== undefined && canDo(own, operation) ? own : cheapestModel(models, operation);
    if (model === undefined) throw new Error(t(`noneCan.${operation}`));
    const name = own === undefined ? video.model : modelTitle(own);
    onNotice(model === own ? '' : t(`otherModel.${operation}`, { model: name, other: modelTitle(model) }));
    return fitDraftToModel(toChangeDraft(taskId, video.prompt, operation), model).draft;
  };
  const takeFrame = async (taskId: string): Promise<void> => {
    if (!rolesFor(find(draft.model), draft.operation, 'image').includes('first_frame'))
      throw new Error(t('noFirstFrame'));
    const { extractLastFrame } = await import('./last-frame.ts');
    uploads.add([await extractLastFrame(queries, taskId)], 'first_frame');
    focusForm('prompt');
  };
  const takeFile = async (fileId: string): Promise<void> => {
    const { fileQuery } = await import('../../data/files.ts');
    const { filename: name, bytes, mime_type } = await queries.fetchQuery(fileQuery(fileId));
    const type = inputTypeOf(mime_type);
    if (type === undefined) throw new Error(t('fileType'));
    const input = { key: randomId(), type, name, bytes, source: { file_id: fileId } };
    change(({ inputs, model, operation }) => ({ inputs: addInput(inputs, input, find(model), operation) }));
    focusForm('prompt');
  };
  const offered = useMemo(
    () => CHANGE_OPERATIONS.filter((operation) => cheapestModel(models, operation) !== undefined),
    [models],
  );
  return useStableActions({
    remix: (taskId) => fill(() => fromVideo(taskId)),
    vary: (taskId) => void restart(taskId, true).catch(onError),
    retry: (taskId) => void restart(taskId, false).catch(onError),
    change: (taskId, operation) => fill(() => startChange(taskId, operation)),
    takeLastFrame: (taskId) => void takeFrame(taskId).catch(onError),
    takeFile: (fileId) => void takeFile(fileId).catch(onError),
    offered,
  });
}

/** The same object for every draft, so that the videos do not render again with each letter of the prompt. */
function useStableActions(actions: RemixActions): RemixActions {
  const current = useRef(actions);
  current.current = actions;
  const { offered } = actions;
  return useMemo(
    () => ({
      vary: (taskId) => current.current.vary(taskId),
      retry: (taskId) => current.current.retry(taskId),
      remix: (taskId) => current.current.remix(taskId),
      change: (taskId, operation) => current.current.change(taskId, operation),
      takeLastFrame: (taskId) => current.current.takeLastFrame(taskId),
      takeFile: (fileId) => current.current.takeFile(fileId),
      offered,
    }),
    [offered],
  );
}

/** A form whose source is an earlier video. */
const toChangeDraft = (taskId: string, prompt: string, operation: ChangeOperation): Draft => ({
  ...EMPTY_DRAFT,
  operation,
  prompt: operation === 'extend' ? prompt : '',
  inputs: [{ key: randomId(), type: 'video', role: 'source', name: prompt, source: { file_id: taskId } }],
});

/** The form as submitted for this video, as far as it was stored, adapted to the model's current capabilities. */
async function draftFromVideo(
  queries: QueryClient,
  taskId: string,
): Promise<{ readonly draft: Draft; readonly lostInputs: number }> {
  const [video, models] = await Promise.all([
    queries.fetchQuery(videoQuery(taskId)),
    queries.fetchQuery(usableModelsQuery),
  ]);
  const model = models.find(({ id }) => id === video.model);
  const { draft, lostInputs } = fromBody(video.request, requestPathsFor(model), EMPTY_DRAFT);
  const named = { ...draft, model: video.model, prompt: draft.prompt || video.prompt, compare: [] };
  return { draft: model === undefined ? named : fitDraftToModel(named, model).draft, lostInputs };
}

/** A video's form with the same or a new seed, and its request; no request if the form has to be completed first. */
export async function repeatVideo(
  queries: QueryClient,
  taskId: string,
  hasNewSeed: boolean,
): Promise<{ readonly draft: Draft; readonly body: VideoBody | undefined; readonly lostInputs: number }> {
  const { draft: known, lostInputs } = await draftFromVideo(queries, taskId);
  const model = (await queries.fetchQuery(usableModelsQuery)).find(({ id }) => id === known.model);
  const isSeeded = hasNewSeed && controlsFor(model, known).seed;
  const seed = isSeeded ? String(Math.floor(Math.random() * MAX_SEED)) : hasNewSeed ? '' : known.seed;
  const draft = { ...known, seed };
  const isComplete = model !== undefined && checkInputs(model, draft.operation, draft.inputs).problems.size === 0;
  return { draft, body: isComplete && lostInputs === 0 ? toModelBody(draft, model) : undefined, lostInputs };
}

/**
 * Submits one request per video and shows the resulting videos. Idempotency keys are renewed after each click, so a
 * retried request starts no second video; after a lost connection the same request keeps its keys, because the service
 * may have received it. A request refused by a vendor becomes a failed video: the list shows its
 * reason in our words, so the vendor's error is not shown in the form.
 */
export function useSubmitVideos(onShow: (taskIds: readonly string[]) => void) {
  const { t } = useTranslation('studio');
  const queries = useQueryClient();
  const toasts = useToasts();
  const press = useRef({ id: randomId(), bodies: '' });
  const mutation = useMutation({
    mutationFn: async (bodies: readonly VideoBody[]) => {
      const text = JSON.stringify(bodies);
      if (press.current.bodies !== text) press.current = { id: randomId(), bodies: text };
      const { id } = press.current;
      const before = await queries.ensureQueryData(videosQuery(1, NEWEST_VIDEOS_COUNT));
      const known = new Set(before.data.map(({ task_id }) => task_id));
      const results = await Promise.allSettled(
        bodies.map((body, index) => submitVideo(body, index === 0 ? id : `${id}-${index}`)),
      );
      const started = results.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
      const [error] = results.flatMap((each) => (each.status === 'rejected' ? [each.reason as Error] : []));
      const list = await queries.fetchQuery({ ...videosQuery(1, NEWEST_VIDEOS_COUNT), staleTime: 0 });
      const refused = list.data.filter(
        ({ task_id, status, model }) =>
          status === 'FAILURE' && !known.has(task_id) && bodies.some((body) => body.model === model),
      );
      if (started.length > 0) addRecentModels(bodies.map(({ model }) => model));
      // The video that was edited or extended lists its new version.
      const used = bodies.flatMap(({ inputs = [] }) => inputs as readonly VideoInput[]).map(({ file_id }) => file_id);
      for (const id of new Set(used)) void queries.invalidateQueries({ queryKey: ['videos', 'one', id] });
      const shown = [...started, ...refused.map(({ task_id }) => task_id)];
      if (shown.length > 0) onShow([...new Set(shown)]);
      if (error !== undefined && refused.length === 0) throw error;
      return started;
    },
    onSettled: async (_, error) => {
      if (!isUnreachable(error)) press.current = { id: randomId(), bodies: '' };
      await queries.invalidateQueries({ queryKey: selfQuery.queryKey });
    },
    onSuccess: (started) => {
      if (started.length > 0) toasts.success(t('started', { count: started.length }));
    },
  });
  const { error, reset } = mutation;
  const isLost = isUnreachable(error);
  // Any response proves that the service is back, so the error of the submit is no longer true.
  useEffect(() => {
    if (!isLost) return undefined;
    return queries.getQueryCache().subscribe((event) => {
      if (event.type === 'updated' && event.action.type === 'success') reset();
    });
  }, [isLost, queries, reset]);
  return mutation;
}
