import { Alert, Anchor, Grid, Group, SimpleGrid, Skeleton, Title } from '@mantine/core';
import { IconMovie } from '@tabler/icons-react';
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { isTerminal } from '../../../contract/states.ts';
import { modelsQuery, type UsableModel } from '../../data/models.ts';
import { selfQuery } from '../../data/queries.ts';
import { videosQuery } from '../../data/videos.ts';
import { Empty } from '../../parts/empty.tsx';
import { Failure } from '../../parts/failure.tsx';
import { useNotices } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { VideoCard } from '../../parts/video-card.tsx';
import { type Draft, fit } from './draft.ts';
import { useDraft } from './draft-store.ts';
import { toDraftAgain } from './reuse.ts';
import { StudioForm } from './studio-form.tsx';

/** The form on one side, what came of it on the other. */
export function StudioPage() {
  const { t } = useTranslation('studio');
  const [draft, change, replace] = useDraft();
  const models = useQuery(modelsQuery);
  const videoModels = (models.data ?? []).filter(({ kind }) => kind === 'video');
  const reuse = useReuse(replace);
  // The first choice is made for the person: an empty form teaches nothing.
  const first = cheapest(videoModels);
  useEffect(() => {
    if (draft.model === '' && first !== undefined) replace(fit(draft, first).draft);
  }, [draft, first, replace]);
  return (
    <Page title={t('title')} size="xl">
      <Failure error={models.error} retry={() => void models.refetch()} />
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
          <Latest onReuse={reuse} />
        </Grid.Col>
      </Grid>
    </Page>
  );
}

/** The least that can go wrong: a model of the plan that needs words alone and costs little. */
function cheapest(models: readonly UsableModel[]): UsableModel | undefined {
  const cost = ({ price }: UsableModel): number => ('per_second' in price ? (price.per_second ?? 0) : 0);
  return models
    .filter(({ permitted, capability }) => permitted && capability?.images.min === 0)
    .reduce<UsableModel | undefined>(
      (best, each) => (best === undefined || cost(each) < cost(best) ? each : best),
      undefined,
    );
}

const SHOWN = 12;

function Latest({ onReuse }: { readonly onReuse: (taskId: string) => void }) {
  const { t } = useTranslation('studio');
  const queries = useQueryClient();
  const videos = useQuery({ ...videosQuery(1, SHOWN), placeholderData: keepPreviousData });
  // A video that ends may bring its price back.
  const running = videos.data?.data.filter(({ status }) => !isTerminal(status)).length ?? 0;
  const before = useRef(running);
  useEffect(() => {
    if (running < before.current) void queries.invalidateQueries({ queryKey: selfQuery.queryKey });
    before.current = running;
  }, [running, queries]);
  if (videos.error !== null) return <Failure error={videos.error} retry={() => void videos.refetch()} />;
  if (videos.data === undefined) return <Skeleton h={320} radius="lg" />;
  if (videos.data.total === 0)
    return (
      <Empty icon={<IconMovie size={28} />} title={t('emptyTitle')}>
        {t('emptyText')}
      </Empty>
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

/** Fills the form from an earlier video: at a press, or when the address asks for it (`/studio?again=task_…`). */
function useReuse(replace: (draft: Draft) => void): (taskId: string) => void {
  const { t } = useTranslation('studio');
  const queries = useQueryClient();
  const notices = useNotices();
  const navigate = useNavigate();
  const { again } = useSearch({ from: '/app/studio' });
  const fill = useRef((_: string): void => {});
  fill.current = (taskId) => {
    toDraftAgain(queries, taskId).then(
      ({ draft, lostPictures }) => {
        replace(draft);
        if (lostPictures > 0) notices.failed(t('lostPictures'));
        window.scrollTo({ top: 0, behavior: 'smooth' });
      },
      (error: Error) => notices.failed(error.message),
    );
  };
  useEffect(() => {
    if (again === undefined) return;
    fill.current(again);
    void navigate({ to: '/studio', search: {}, replace: true });
  }, [again, navigate]);
  return (taskId) => fill.current(taskId);
}
