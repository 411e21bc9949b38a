import { Alert, Anchor, Grid, Group, SimpleGrid, Skeleton, Title } from '@mantine/core';
import { IconMovie } from '@tabler/icons-react';
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { isChatPrice, priceMedia } from '../../../contract/pricing.ts';
import { isTerminal } from '../../../contract/states.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { Page } from '../../components/page.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { VideoCard } from '../../components/video-card.tsx';
import { modelsQuery, type UsableModel } from '../../data/model-queries.ts';
import { selfQuery } from '../../data/query-client.ts';
import { videosQuery } from '../../data/video-queries.ts';
import { draftFromVideo } from './draft-from-video.ts';
import { controlsFor, type Draft, fitToModel } from './studio-draft.ts';
import { StudioForm } from './studio-form.tsx';
import { useDraft } from './use-draft.ts';

/** The form on one side, the resulting videos on the other. */
export function StudioPage() {
  const { t } = useTranslation('studio');
  const [draft, change, replace] = useDraft();
  const models = useQuery(modelsQuery);
  const videoModels = (models.data ?? []).filter(({ kind }) => kind === 'video');
  const reuse = useReuseVideo(replace);
  // A first visit starts with a model selected, because the controls of the form depend on it.
  const first = cheapestTextModel(videoModels);
  const named = useModelFromAddress(videoModels);
  useEffect(() => {
    const wanted = named ?? (draft.model === '' ? first : undefined);
    if (wanted !== undefined && wanted.id !== draft.model) replace(fitToModel(draft, wanted).draft);
  }, [draft, first, named, replace]);
  return (
    <Page title={t('title')} size="xl">
      <ErrorAlert error={models.error} retry={() => void models.refetch()} />
      <Grid gap="lg">
        <Grid.Col span={{ base: 12, lg: 5, xl: 4 }}>
          {models.data === undefined ? (
            <Skeleton h={560} radius="lg" />
          ) : videoModels.length === 0 ? (
            <Alert color="yellow">{t('noModels')}</Alert>
          ) : (
            <StudioForm models={videoModels} draft={draft} change={change} replace={replace} />
          )}
        </Grid.Col>
        <Grid.Col span={{ base: 12, lg: 7, xl: 8 }}>
          <RecentVideos onReuse={reuse} />
        </Grid.Col>
      </Grid>
    </Page>
  );
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

/** Of the models that the user's plan includes and that need no picture, the one whose default video costs least. */
function cheapestTextModel(models: readonly UsableModel[]): UsableModel | undefined {
  return models
    .filter(({ permitted, capability }) => permitted && capability?.images.min === 0)
    .reduce<UsableModel | undefined>(
      (best, each) => (best === undefined || defaultCost(each) < defaultCost(best) ? each : best),
      undefined,
    );
}

/** Quota of a video of the default duration, without multipliers. */
function defaultCost(model: UsableModel): number {
  const seconds = controlsFor(model).seconds?.default ?? 0;
  return isChatPrice(model.price) ? 0 : priceMedia(model.price, { seconds, factors: {} }).quota;
}

const MAX_RECENT = 12;

function RecentVideos({ onReuse }: { readonly onReuse: (taskId: string) => void }) {
  const { t } = useTranslation('studio');
  const queries = useQueryClient();
  const videos = useQuery({ ...videosQuery(1, MAX_RECENT), placeholderData: keepPreviousData });
  // A video that ends may bring its price back.
  const running = videos.data?.data.filter(({ status }) => !isTerminal(status)).length ?? 0;
  const before = useRef(running);
  useEffect(() => {
    if (running < before.current) void queries.invalidateQueries({ queryKey: selfQuery.queryKey });
    before.current = running;
  }, [running, queries]);
  if (videos.error !== null) return <ErrorAlert error={videos.error} retry={() => void videos.refetch()} />;
  if (videos.data === undefined) return <Skeleton h={320} radius="lg" />;
  if (videos.data.total === 0)
    return (
      <EmptyState icon={<IconMovie size={28} />} title={t('emptyTitle')}>
        {t('emptyText')}
      </EmptyState>
    );
  return (
    <>
      <Group justify="space-between" mb="sm">
        <Title order={2}>{t('recent')}</Title>
        <Anchor size="sm" renderRoot={(props) => <Link to="/videos" {...props} />}>
          {t('seeAll')}
        </Anchor>
      </Group>
      <SimpleGrid cols={{ base: 1, sm: 2, xl: 3 }} spacing="md">
        {videos.data.data.map((video) => (
          <VideoCard key={video.task_id} video={video} onReuse={({ task_id }) => onReuse(task_id)} />
        ))}
      </SimpleGrid>
    </>
  );
}

/** Fills the form from an earlier video: on click, or when the URL requests it (`/studio?again=task_…`). */
function useReuseVideo(replace: (draft: Draft) => void): (taskId: string) => void {
  const { t } = useTranslation('studio');
  const queries = useQueryClient();
  const toasts = useToasts();
  const navigate = useNavigate();
  const { again } = useSearch({ from: '/app/studio' });
  const fill = useRef((_: string): void => {});
  fill.current = (taskId) => {
    draftFromVideo(queries, taskId).then(
      ({ draft, lostPictures }) => {
        replace(draft);
        if (lostPictures > 0) toasts.error(t('lostPictures'));
        window.scrollTo({ top: 0, behavior: 'smooth' });
      },
      (error: Error) => toasts.error(error.message),
    );
  };
  useEffect(() => {
    if (again === undefined) return;
    fill.current(again);
    void navigate({ to: '/studio', search: {}, replace: true });
  }, [again, navigate]);
  return (taskId) => fill.current(taskId);
}
