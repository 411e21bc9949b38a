import { Alert, Button, Skeleton, Stack } from '@mantine/core';
import { IconBulb } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ErrorAlert, QueryError } from '../../components/error-alert.tsx';
import { Page } from '../../components/page.tsx';
import { DRAFT_KEY_PREFIX as KEY } from '../../data/browser-storage.ts';
import { type UsableModel, usableModelsQuery, useStatus } from '../../data/self.ts';
import { type ChangeDraft, type Draft, EMPTY_DRAFT, fitDraftToModel, restoreDraft, withoutData } from './draft.ts';
import { initialModel } from './models.ts';
import { type RemixActions, useRemixActions, useSubmitVideos } from './remix-actions.ts';
import { isNarrow, MiniPlayer, Results, scrollToStage, useVideosOnStage } from './results.tsx';
import { StudioForm } from './studio-form.tsx';
import { useInputUploads } from './uploads.ts';

const IdeaPrompt = lazy(async () => ({ default: (await import('./ideas.tsx')).IdeaPrompt }));

/** The studio: the prompt bar, the newest result, and earlier results with their prompts below. */
export function StudioPage() {
  const { t } = useTranslation('studio');
  const [draft, change, replace] = useStudioDraft();
  const models = useQuery(usableModelsQuery);
  const videoModels = useMemo(() => (models.data ?? []).filter(({ kind }) => kind === 'video'), [models.data]);
  const model = videoModels.find(({ id }) => id === draft.model);
  const { data: status } = useStatus();
  const [notice, setNotice] = useState('');
  const [shown, show] = useShownVideos();
  const onStage = useVideosOnStage(shown);
  const showStarted = (taskIds: readonly string[]): void => {
    show(taskIds);
    setNotice('');
    // Waits until the new video is on the stage.
    if (isNarrow()) setTimeout(scrollToStage, 100);
  };
  const run = useSubmitVideos(showStarted);
  const variation = useSubmitVideos(showStarted);
  const uploads = useInputUploads(model, change);
  const actions = useRemixActions({
    draft,
    models: videoModels,
    replace,
    change,
    uploads,
    submit: variation.mutate,
    onNotice: setNotice,
  });
  useActionFromAddress(actions, models.data !== undefined);
  const { idea } = useSearch({ from: '/app/studio' });
  // Preselects a model on the first visit, because the form's controls depend on it.
  const first = useMemo(() => initialModel(videoModels, status?.default_video_model), [videoModels, status]);
  const named = useModelFromAddress(videoModels);
  useEffect(() => {
    const wanted = named ?? (draft.model === '' ? first : undefined);
    if (wanted !== undefined && wanted.id !== draft.model) replace(fitDraftToModel(draft, wanted).draft);
  }, [draft, first, named, replace]);
  return (
    <Page title={t('title')} actions={<ExploreButton />}>
      <QueryError query={models} />
      <Stack gap="lg" className="studio">
        {models.data === undefined ? (
          <Skeleton h={236} radius="lg" />
        ) : videoModels.length === 0 ? (
          <Alert color="yellow">{t('noModels')}</Alert>
        ) : (
          <StudioForm
            models={videoModels}
            draft={draft}
            change={change}
            replace={replace}
            uploads={uploads}
            run={run}
            notice={notice}
            onNotice={setNotice}
            promptModel={models.data.find(
              ({ id, kind, permitted }) => id === status?.prompt_model && kind === 'chat' && permitted,
            )}
            mini={<MiniPlayer video={onStage[0]} />}
          />
        )}
        <ErrorAlert error={variation.error} />
        {idea === undefined ? null : (
          <Suspense>
            <IdeaPrompt idea={idea} change={change} />
          </Suspense>
        )}
        <Results onStage={onStage} onShow={show} actions={actions} />
      </Stack>
    </Page>
  );
}

function ExploreButton() {
  const { t } = useTranslation('studio');
  return (
    <Button
      size="compact-sm"
      variant="subtle"
      color="gray"
      leftSection={<IconBulb size={17} />}
      renderRoot={(props) => <Link to="/studio/explore" {...props} />}
    >
      {t('explore')}
    </Button>
  );
}

/** Videos on the stage, stored in the URL (`/studio?show=ID,ID`), so that a reload shows them again. */
function useShownVideos(): readonly [readonly string[], (taskIds: readonly string[]) => void] {
  const navigate = useNavigate();
  const { show } = useSearch({ from: '/app/studio' });
  const shown = useMemo(() => (show === undefined ? [] : show.split(',')), [show]);
  const change = useCallback(
    (taskIds: readonly string[]) =>
      void navigate({ to: '/studio', search: { show: taskIds.join(',') }, replace: true, resetScroll: false }),
    [navigate],
  );
  return [shown, change];
}

/** Reads the model from the URL (`/studio?model=ID`) once and removes it from the URL. */
function useModelFromAddress(models: readonly UsableModel[]): UsableModel | undefined {
  const navigate = useNavigate();
  const { model: id } = useSearch({ from: '/app/studio' });
  const model = models.find((each) => each.id === id);
  useEffect(() => {
    if (model !== undefined) void navigate({ to: '/studio', search: {}, replace: true });
  }, [model, navigate]);
  return model;
}

/** Performs the action in the URL (`/studio?again=task_…`) once the models are known, and removes it from the URL. */
function useActionFromAddress(actions: RemixActions, isReady: boolean): void {
  const navigate = useNavigate();
  const { again, edit, extend, file, frame } = useSearch({ from: '/app/studio' });
  const current = useRef(actions);
  current.current = actions;
  useEffect(() => {
    const { remix, change, takeFile, takeLastFrame } = current.current;
    if (!isReady || (again ?? edit ?? extend ?? file ?? frame) === undefined) return;
    if (again !== undefined) remix(again);
    else if (edit !== undefined) change(edit, 'edit');
    else if (extend !== undefined) change(extend, 'extend');
    else if (file !== undefined) takeFile(file);
    else if (frame !== undefined) takeLastFrame(frame);
    void navigate({ to: '/studio', search: {}, replace: true });
  }, [again, edit, extend, file, frame, isReady, navigate]);
}

/** Browsers store about five million characters per site. */
const MAX_CHARACTERS = 3_000_000;

/** The last state of the form, stored in this browser. */
function readDraft(): Draft {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? '{}');
    return typeof kept === 'object' && kept !== null ? restoreDraft(kept) : EMPTY_DRAFT;
  } catch {
    return EMPTY_DRAFT;
  }
}

/** Stores a draft; images by value are omitted if they do not fit. */
function storeDraft(draft: Draft): void {
  const whole = JSON.stringify(draft);
  localStorage.setItem(KEY, whole.length <= MAX_CHARACTERS ? whole : JSON.stringify(withoutData(draft)));
}

function useStudioDraft(): readonly [Draft, ChangeDraft, (draft: Draft) => void] {
  const [draft, setDraft] = useState(readDraft);
  useEffect(() => {
    const store = (): void => {
      cancel();
      storeDraft(draft);
    };
    const timer = setTimeout(store, 200);
    // A reload may happen before the timer fires. A stored draft is not stored twice, because another tab may have a
    // newer one.
    addEventListener('pagehide', store);
    const cancel = (): void => {
      clearTimeout(timer);
      removeEventListener('pagehide', store);
    };
    return cancel;
  }, [draft]);
  const change = useCallback<ChangeDraft>(
    (part) => setDraft((known) => ({ ...known, ...(typeof part === 'function' ? part(known) : part) })),
    [],
  );
  return [draft, change, setDraft];
}
