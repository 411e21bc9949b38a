import { Alert, Grid, Skeleton, Stack } from '@mantine/core';
import { IconMovie } from '@tabler/icons-react';
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { isChatPrice, minimumVideoPrice } from '../../../contract/pricing.ts';
import { isTerminal } from '../../../contract/task-states.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { Page } from '../../components/page.tsx';
import { selfQuery } from '../../data/signed-in-user-and-site-queries.ts';
import { type UsableModel, usableModelsQuery } from '../../data/usable-models-query.ts';
import { type Video, videosQuery } from '../../data/video-queries.ts';
import { CurrentVideo } from './current-video.tsx';
import { controlsFor, fitDraftToModel } from './draft-type-and-fit-to-model.ts';
import { NEWEST_VIDEOS_COUNT } from './newest-videos-count.ts';
import { NewestVideosStrip } from './newest-videos-strip.tsx';
import type { RemixActions } from './remix-buttons.tsx';
import { StudioForm } from './studio-form.tsx';
import { useRemixActions } from './use-remix-actions.ts';
import { useStudioDraft } from './use-studio-draft.ts';

const ComparedVideos = lazy(() => import('./compared-videos.tsx'));

/** The form on one side; on the other the video it made, large, above the newest ones. */
export function StudioPage() {
  const { t } = useTranslation('studio');
  const [draft, change, replace] = useStudioDraft();
  const models = useQuery(usableModelsQuery);
  const videoModels = (models.data ?? []).filter(({ kind }) => kind === 'video');
  const actions = useRemixActions(draft, videoModels, replace);
  useReuseFromAddress(actions);
  const [shown, show] = useShownVideos();
  // A first visit starts with a model selected, because the controls of the form depend on it.
  const first = cheapestTextModel(videoModels);
  const named = useModelFromAddress(videoModels);
  useEffect(() => {
    const wanted = named ?? (draft.model === '' ? first : undefined);
    if (wanted !== undefined && wanted.id !== draft.model) replace(fitDraftToModel(draft, wanted).draft);
  }, [draft, first, named, replace]);
  return (
    <Page title={t('title')} size="xl">
      <ErrorAlert error={models.error} retry={() => void models.refetch()} />
      <Grid gap="lg">
        <Grid.Col span={{ base: 12, lg: 5, xl: 4 }}>
          {models.data === undefined ? (
            <Skeleton h={720} radius="lg" />
          ) : videoModels.length === 0 ? (
            <Alert color="yellow">{t('noModels')}</Alert>
          ) : (
            <StudioForm models={videoModels} draft={draft} change={change} replace={replace} onShow={show} />
          )}
        </Grid.Col>
        <Grid.Col span={{ base: 12, lg: 7, xl: 8 }}>
          <Results shown={shown} onShow={show} actions={actions} />
        </Grid.Col>
      </Grid>
    </Page>
  );
}

/** The videos on the stage, by the address (`/studio?show=ID,ID`), so that a reload shows them again. */
function useShownVideos(): readonly [readonly string[], (taskIds: readonly string[]) => void] {
  const navigate = useNavigate();
  const { show } = useSearch({ from: '/app/studio' });
  return [
    show === undefined ? [] : show.split(','),
    (taskIds) =>
      void navigate({ to: '/studio', search: { show: taskIds.join(',') }, replace: true, resetScroll: false }),
  ];
}

/** The model the address names (`/studio?model=ID`), once; the address is plain again afterwards. */
function useModelFromAddress(models: readonly UsableModel[]): UsableModel | undefined {
  const navigate = useNavigate();
  const { model: id } = useSearch({ from: '/app/studio' });
  const model = models.find((each) => each.id === id);
  useEffect(() => {
    if (model !== undefined) void navigate({ to: '/studio', search: {}, replace: true });
  }, [model, navigate]);
  return model;
}

/** Fills the form from an earlier video where the address requests it (`/studio?again=task_…`). */
function useReuseFromAddress({ remix }: RemixActions): void {
  const navigate = useNavigate();
  const { again } = useSearch({ from: '/app/studio' });
  const fill = useRef(remix);
  fill.current = remix;
  useEffect(() => {
    if (again === undefined) return;
    fill.current(again);
    void navigate({ to: '/studio', search: {}, replace: true });
  }, [again, navigate]);
}

/** Of the models that the user's plan includes and that need no picture, the one whose default video costs least. */
function cheapestTextModel(models: readonly UsableModel[]): UsableModel | undefined {
  return models
    .filter(({ permitted, capability }) => permitted && capability?.images.min === 0)
    .reduce<UsableModel | undefined>(
      (best, each) => (best === undefined || defaultCost(each) < defaultCost(best) ? each : best),
      undefined,
    );
}

/** The least quota of a video of the default duration, without multipliers. */
function defaultCost(model: UsableModel): number {
  const seconds = controlsFor(model).seconds?.default ?? 0;
  return isChatPrice(model.price) ? 0 : minimumVideoPrice(model.price, seconds);
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
  if (videos.error !== null) return <ErrorAlert error={videos.error} retry={() => void videos.refetch()} />;
  if (videos.data === undefined) return <Skeleton h={560} radius="lg" />;
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
    <Stack gap="md">
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

/** A video that ends may bring its price back: the balance is asked for again. */
function useFreshBalance(videos: readonly Video[] | undefined): void {
  const queries = useQueryClient();
  const running = videos?.filter(({ status }) => !isTerminal(status)).length ?? 0;
  const before = useRef(running);
  useEffect(() => {
    if (running < before.current) void queries.invalidateQueries({ queryKey: selfQuery.queryKey });
    before.current = running;
  }, [running, queries]);
}
