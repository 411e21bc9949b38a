import { Alert, Anchor, Button, Group, Loader, Skeleton, Stack, Title } from '@mantine/core';
import { useInViewport } from '@mantine/hooks';
import { IconAlertTriangle, IconArrowUp, IconMovie } from '@tabler/icons-react';
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type KeyboardEvent, lazy, Suspense, useCallback, useDeferredValue, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { isTerminal } from '../../../contract/task-states.ts';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { EmptyState, Page } from '../../components/page.tsx';
import { DRAFT_KEY_PREFIX as KEY } from '../../data/browser-storage.ts';
import { type UsableModel, usableModelsQuery } from '../../data/models.ts';
import { selfQuery } from '../../data/self.ts';
import { type Video, videosQuery } from '../../data/videos.ts';
import { NEWEST_VIDEOS_COUNT } from '../../studio-start.ts';
import { CurrentVideo } from './current-video.tsx';
import { type ChangeDraft, type Draft, EMPTY_DRAFT, fitDraftToModel, restoreDraft, withoutData } from './draft.ts';
import { cheapestModel } from './models.ts';
import { type RemixActions, useRemixActions } from './remix-actions.ts';
import { StudioForm } from './studio-form.tsx';
import { useSubmitVideos } from './submit-videos.ts';
import { useInputUploads } from './uploads.ts';

const ComparedVideos = lazy(() => import('./compared-videos.tsx'));

/** The studio: the form, the current video, and the newest videos below. */
export function StudioPage() {
  const { t } = useTranslation('studio');
  const [draft, change, replace] = useStudioDraft();
  const models = useQuery(usableModelsQuery);
  const videoModels = (models.data ?? []).filter(({ kind }) => kind === 'video');
  const model = videoModels.find(({ id }) => id === draft.model);
  const [notice, setNotice] = useState('');
  const [shown, show] = useShownVideos();
  const showStarted = (taskIds: readonly string[]): void => {
    show(taskIds);
    scrollToStage();
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
  // Preselects a model on the first visit, because the form's controls depend on it.
  const first = cheapestModel(videoModels);
  const named = useModelFromAddress(videoModels);
  useEffect(() => {
    const wanted = named ?? (draft.model === '' ? first : undefined);
    if (wanted !== undefined && wanted.id !== draft.model) replace(fitDraftToModel(draft, wanted).draft);
  }, [draft, first, named, replace]);
  return (
    <Page title={t('title')} size="xl">
      <ErrorAlert error={models.error} retry={() => void models.refetch()} />
      <div className="studio-columns">
        <div>
          {models.data === undefined ? (
            <Skeleton h={720} radius="lg" />
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
            />
          )}
        </div>
        <div>
          <ErrorAlert error={variation.error} />
          <Results shown={shown} onShow={show} actions={actions} />
          <Button
            className="to-form"
            hiddenFrom="lg"
            fullWidth
            variant="default"
            leftSection={<IconArrowUp size={16} />}
            onClick={() => document.getElementById('prompt')?.focus()}
          >
            {t('toPrompt')}
          </Button>
        </div>
      </div>
    </Page>
  );
}

/** Below this width the stage is under the form. */
const TWO_COLUMNS = '(min-width: 75em)';

/** Where the stage is below the form, shows it after a submit. */
function scrollToStage(): void {
  if (matchMedia(TWO_COLUMNS).matches) return;
  // Waits until the new video is on the stage.
  setTimeout(() => document.getElementById('stage')?.scrollIntoView({ block: 'start', behavior: 'smooth' }), 100);
}

/** Videos on the stage, stored in the URL (`/studio?show=ID,ID`), so that a reload shows them again. */
function useShownVideos(): readonly [readonly string[], (taskIds: readonly string[]) => void] {
  const navigate = useNavigate();
  const { show } = useSearch({ from: '/app/studio' });
  return [
    show === undefined ? [] : show.split(','),
    (taskIds) =>
      void navigate({ to: '/studio', search: { show: taskIds.join(',') }, replace: true, resetScroll: false }),
  ];
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
  const { again, edit, extend, file } = useSearch({ from: '/app/studio' });
  const current = useRef(actions);
  current.current = actions;
  useEffect(() => {
    const { remix, change, takeFile } = current.current;
    if (!isReady || (again ?? edit ?? extend ?? file) === undefined) return;
    if (again !== undefined) remix(again);
    else if (edit !== undefined) change(edit, 'edit');
    else if (extend !== undefined) change(extend, 'extend');
    else if (file !== undefined) takeFile(file);
    void navigate({ to: '/studio', search: {}, replace: true });
  }, [again, edit, extend, file, isReady, navigate]);
}

interface ResultsProps {
  readonly shown: readonly string[];
  readonly onShow: (taskIds: readonly string[]) => void;
  readonly actions: RemixActions;
}

function Results({ shown, onShow, actions }: ResultsProps) {
  const { t } = useTranslation('studio');
  const videos = useQuery({ ...videosQuery(1, NEWEST_VIDEOS_COUNT), placeholderData: keepPreviousData });
  useFreshBalance(videos.data?.data);
  // A failed refetch keeps the videos on the screen; the page shows separately that it reconnects.
  if (videos.data === undefined)
    return videos.error === null ? (
      <Skeleton h={560} radius="lg" />
    ) : (
      <ErrorAlert error={videos.error} retry={() => void videos.refetch()} />
    );
  const { data: recent } = videos.data;
  const [newest] = recent;
  if (newest === undefined)
    return (
      <EmptyState icon={<IconMovie size={28} />} title={t('emptyTitle')}>
        {t('emptyText')}
      </EmptyState>
    );
  const found = shown.flatMap((id) => recent.find(({ task_id }) => task_id === id) ?? []);
  const [one = newest] = found;
  return (
    <Stack gap="md" id="stage">
      {found.length > 1 ? (
        <Suspense fallback={<Skeleton h={560} radius="lg" />}>
          <ComparedVideos videos={found} actions={actions} />
        </Suspense>
      ) : (
        <CurrentVideo key={one.task_id} video={one} actions={actions} />
      )}
      <NewestVideosStrip
        videos={recent}
        shown={found.length > 1 ? shown : [one.task_id]}
        onShow={(taskId) => onShow([taskId])}
      />
    </Stack>
  );
}

/** Refetches the balance when a video finishes, because a failure refunds its price. */
function useFreshBalance(videos: readonly Video[] | undefined): void {
  const queries = useQueryClient();
  const running = videos?.filter(({ status }) => !isTerminal(status)).length ?? 0;
  const before = useRef(running);
  useEffect(() => {
    if (running < before.current) void queries.invalidateQueries({ queryKey: selfQuery.queryKey });
    before.current = running;
  }, [running, queries]);
}

/** Number of thumbnails visible on a wide screen. */
const FIRST_COUNT = 12;

interface NewestVideosStripProps {
  readonly videos: readonly Video[];
  readonly shown: readonly string[];
  readonly onShow: (taskId: string) => void;
}

/** The newest videos in a row, navigable by arrow keys. */
function NewestVideosStrip({ videos, shown, onShow }: NewestVideosStripProps) {
  const { t } = useTranslation('studio');
  // Thumbnails beyond the visible part are rendered after the first paint.
  const count = useDeferredValue(Number.POSITIVE_INFINITY, FIRST_COUNT);
  const move = (event: KeyboardEvent<HTMLElement>): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const buttons = [...event.currentTarget.querySelectorAll('button')];
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    if (step === undefined || at < 0) return;
    event.preventDefault();
    buttons[at + step]?.focus();
  };
  return (
    <section aria-label={t('recent')}>
      <Group justify="space-between" mb="xs">
        <Title order={2}>{t('recent')}</Title>
        <Anchor size="sm" renderRoot={(props) => <Link to="/videos" {...props} />}>
          {t('seeAll')}
        </Anchor>
      </Group>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the keys move between the buttons inside */}
      <div className="strip" onKeyDown={move}>
        {videos.slice(0, count).map((video) => (
          <Thumbnail
            key={video.task_id}
            video={video}
            active={shown.includes(video.task_id)}
            onShow={() => onShow(video.task_id)}
          />
        ))}
      </div>
    </section>
  );
}

interface ThumbnailProps {
  readonly video: Video;
  readonly active: boolean;
  readonly onShow: () => void;
}

/** Loads its image only when visible: `loading="lazy"` would also load many images beyond the end of the row. */
function Thumbnail({ video, active, onShow }: ThumbnailProps) {
  const { t } = useTranslation('studio');
  const prompt = video.prompt === '' ? t('noPrompt') : video.prompt;
  const [hasFailed, setFailed] = useState(false);
  const { ref, inViewport } = useInViewport<HTMLButtonElement>();
  const [wasSeen, setSeen] = useState(false);
  if (inViewport && !wasSeen) setSeen(true);
  return (
    <button
      ref={ref}
      type="button"
      className="thumbnail mantine-focus-auto"
      aria-label={`${prompt} · ${t(`stage.${video.status}`)}`}
      aria-pressed={active}
      onClick={onShow}
    >
      {wasSeen && video.poster_url !== '' && !hasFailed ? (
        <img src={video.poster_url} alt="" onError={() => setFailed(true)} />
      ) : (
        <span className="thumbnail-state">
          {video.status === 'FAILURE' ? (
            <IconAlertTriangle size={20} />
          ) : isTerminal(video.status) ? (
            <IconMovie size={20} />
          ) : (
            <Loader size="xs" />
          )}
        </span>
      )}
      <span className="thumbnail-title">{prompt}</span>
    </button>
  );
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
