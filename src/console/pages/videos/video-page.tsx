import {
  Anchor,
  Button,
  Code,
  Grid,
  Group,
  Paper,
  ScrollArea,
  Skeleton,
  Stack,
  Table,
  Text,
  Title,
} from '@mantine/core';
import {
  IconArrowBackUp,
  IconDownload,
  IconLifebuoy,
  IconPlayerTrackNext,
  IconShare,
  IconTrash,
  IconWand,
} from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { isTerminal } from '../../../contract/task-states.ts';
import { CollectButton } from '../../components/collect-button.tsx';
import { CopyIconButton } from '../../components/copy-button.tsx';
import { CreditAmount } from '../../components/credit-amount.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { FavouriteButton } from '../../components/favourite-button.tsx';
import { Page } from '../../components/page.tsx';
import { RouteLink } from '../../components/route-link.tsx';
import { TaskProgress, VideoFailure, VideoStatusBadge } from '../../components/task-status.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { VideoPlayer } from '../../components/video-player.tsx';
import { formatDateTime, formatDuration } from '../../data/format-times.ts';
import { CHANGE_OPERATIONS, canDo, usableModelsQuery } from '../../data/models.ts';
import { videoSharesQuery } from '../../data/shares.ts';
import { deleteVideo, type VideoDetail, videoQuery } from '../../data/videos.ts';
import { useModelTitle } from '../studio/models.ts';
import { describeParameters } from './describe-parameters.ts';
import { Lineage } from './lineage.tsx';
import { ShareTable } from './share-table.tsx';

const ShareDialog = lazy(() => import('./share-dialog.tsx'));

/** One video with all its details. */
export function VideoPage() {
  const { t } = useTranslation('studio');
  const { taskId } = useParams({ from: '/app/videos/$taskId' });
  // Versions may have been added since the studio fetched it.
  const video = useQuery({ ...videoQuery(taskId), refetchOnMount: 'always' });
  return (
    <Page
      title={video.data === undefined ? t('videosTitle') : videoTitle(video.data.prompt, t('noPrompt'))}
      subtitle={
        <Anchor size="sm" renderRoot={(props) => <Link to="/videos" {...props} />}>
          {t('seeAll')}
        </Anchor>
      }
      size="lg"
      actions={video.data === undefined ? undefined : <VideoActions video={video.data} />}
    >
      <ErrorAlert error={video.error} retry={() => void video.refetch()} />
      {video.data === undefined ? (
        video.error === null ? (
          <Skeleton h={420} radius="lg" />
        ) : null
      ) : (
        <Grid gap="lg">
          <Grid.Col span={{ base: 12, md: 8 }}>
            {video.data.play_url === '' ? (
              video.data.status === 'SUCCESS' ? (
                <Text c="dimmed">{t('noFile')}</Text>
              ) : (
                <TaskProgress video={video.data} />
              )
            ) : (
              <VideoPlayer src={video.data.play_url} title={video.data.prompt} frameControls />
            )}
            <VideoPrompt prompt={video.data.prompt} />
            <Lineage video={video.data} />
            {video.data.status === 'SUCCESS' ? <VideoShares taskId={taskId} /> : null}
          </Grid.Col>
          <Grid.Col span={{ base: 12, md: 4 }}>
            <VideoDetails video={video.data} />
          </Grid.Col>
        </Grid>
      )}
    </Page>
  );
}

const MAX_TITLE_LENGTH = 80;

/** Start of the prompt, cut at a word boundary. */
function videoTitle(prompt: string, fallback: string): string {
  const line = prompt.trim().split('\n', 1)[0] ?? '';
  if (line.length <= MAX_TITLE_LENGTH) return line === '' ? fallback : line;
  return `${line.slice(0, MAX_TITLE_LENGTH).replace(/\s+\S*$/, '')}…`;
}

/** The prompt with a button that copies it; the heading shows a short one already. */
function VideoPrompt({ prompt }: { readonly prompt: string }) {
  const { t } = useTranslation('studio');
  if (prompt === '') return null;
  return (
    <Group mt="md" gap="xs" wrap="nowrap" align="flex-start" justify="space-between">
      <Text size="sm" style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }} c="dimmed">
        {videoTitle(prompt, '') === prompt ? t('prompt') : prompt}
      </Text>
      <CopyIconButton text={prompt} label={t('copyPrompt')} />
    </Group>
  );
}

/** Share links of the video, if any. */
function VideoShares({ taskId }: { readonly taskId: string }) {
  const { t } = useTranslation('studio');
  const { data: shares = [] } = useQuery(videoSharesQuery(taskId));
  if (shares.length === 0) return null;
  return (
    <Paper withBorder p="md" mt="md">
      <Title order={2} mb="xs">
        {t('share.links')}
      </Title>
      <ShareTable shares={shares} withVideo={false} />
    </Paper>
  );
}

function VideoActions({ video }: { readonly video: VideoDetail }) {
  const { t } = useTranslation('studio');
  const queries = useQueryClient();
  const toasts = useToasts();
  const navigate = useNavigate();
  const remove = async (): Promise<void> => {
    await deleteVideo(video.task_id);
    await queries.invalidateQueries({ queryKey: ['videos', 'list'] });
    toasts.success(t('deleted'));
    await navigate({ to: '/videos' });
  };
  return (
    <>
      <FavouriteButton id={video.task_id} />
      <CollectButton id={video.task_id} />
      <Button
        variant="default"
        leftSection={<IconArrowBackUp size={16} />}
        renderRoot={(props) => <Link to="/studio" search={{ again: video.task_id }} {...props} />}
      >
        {t('reuse')}
      </Button>
      {video.status === 'SUCCESS' ? <ChangeButtons taskId={video.task_id} /> : null}
      {video.status === 'SUCCESS' ? <ShareButton taskId={video.task_id} /> : null}
      {video.play_url === '' ? null : (
        <Button
          component="a"
          href={video.play_url}
          download={`${video.task_id}.mp4`}
          leftSection={<IconDownload size={16} />}
        >
          {t('download')}
        </Button>
      )}
      <Button
        variant="default"
        leftSection={<IconLifebuoy size={16} />}
        renderRoot={(props) => <Link to="/tickets/new" search={{ task: video.task_id }} {...props} />}
      >
        {t('help')}
      </Button>
      {isTerminal(video.status) ? (
        <ConfirmDialog
          title={t('deleteTitle')}
          confirmLabel={t('delete')}
          onConfirm={remove}
          trigger={(open) => (
            <Button variant="default" color="red" leftSection={<IconTrash size={16} />} onClick={open}>
              {t('delete')}
            </Button>
          )}
        >
          {t('deleteText')}
        </ConfirmDialog>
      ) : null}
    </>
  );
}

/** Opens the studio to edit or extend the video, if a model can. */
function ChangeButtons({ taskId }: { readonly taskId: string }) {
  const { t } = useTranslation('studio');
  const { data: models = [] } = useQuery(usableModelsQuery);
  return CHANGE_OPERATIONS.filter((operation) =>
    models.some((model) => model.permitted && canDo(model, operation)),
  ).map((operation) => (
    <Button
      key={operation}
      variant="default"
      leftSection={operation === 'edit' ? <IconWand size={16} /> : <IconPlayerTrackNext size={16} />}
      renderRoot={(props) => <Link to="/studio" search={{ [operation]: taskId }} {...props} />}
    >
      {t(`operations.${operation}`)}
    </Button>
  ));
}

function VideoDetails({ video }: { readonly video: VideoDetail }) {
  const { t } = useTranslation(['studio', 'app']);
  const marksOf = ({ c2pa, signer, aigc }: NonNullable<VideoDetail['provenance']>): readonly string[] => {
    const manifest = c2pa === 'absent' ? [] : t(`provenanceMarks.c2pa.${c2pa}`, { signer });
    const marks = [manifest, aigc ? t('provenanceMarks.aigc') : []].flat();
    return marks.length === 0 ? [t('provenanceMarks.none')] : marks;
  };
  const rows: [string, ReactNode][] = [
    [t('filterStatus'), <VideoStatusBadge key="status" {...video} />],
    [t('model'), <ModelName key="model" id={video.model} />],
    [
      t('cost'),
      video.refunded ? (
        <s key="cost">
          <CreditAmount value={video.quota} />
        </s>
      ) : (
        <CreditAmount key="cost" value={video.quota} />
      ),
    ],
    ...(video.imported ? ([[t('imported'), t('importedHint')]] satisfies [string, ReactNode][]) : []),
    [t('submitted'), formatDateTime(video.submit_time)],
    ...(video.submitted_by === undefined
      ? []
      : ([[t('app:member'), video.submitted_by]] satisfies [string, ReactNode][])),
    ...(video.finish_time === 0
      ? []
      : ([
          [
            t('finished'),
            `${formatDateTime(video.finish_time)} (${t('took', { time: formatDuration(video.finish_time - video.submit_time) })})`,
          ],
        ] satisfies [string, ReactNode][])),
    ...(video.provenance === null
      ? []
      : ([[t('provenance'), marksOf(video.provenance).join(', ')]] satisfies [string, ReactNode][])),
  ];
  const parameterName = (name: string): string =>
    t(`parameterNames.${name as 'seconds'}`, { defaultValue: name.replaceAll('_', ' ') });
  return (
    <Stack>
      {video.status === 'FAILURE' ? <VideoFailure video={video} /> : null}
      <Paper withBorder p="md">
        <Title order={2} mb="xs">
          {t('facts')}
        </Title>
        <FactTable rows={rows} />
        <Group gap={4} wrap="nowrap" mt="xs">
          <Code style={{ overflowWrap: 'anywhere' }}>{video.task_id}</Code>
          <CopyIconButton text={video.task_id} />
        </Group>
        <RouteLink to="/account/receipts/$id" params={{ id: video.task_id }} size="sm" mt="xs" display="inline-block">
          {t('receipt')}
        </RouteLink>
      </Paper>
      <Paper withBorder p="md">
        <Title order={2} mb="xs">
          {t('parameters')}
        </Title>
        <FactTable
          rows={describeParameters(video.request).map(([name, value]) => [
            parameterName(name),
            typeof value === 'boolean'
              ? t(value ? 'parameterOn' : 'parameterOff')
              : name === 'operation'
                ? t(`operations.${value as 'edit'}`, { defaultValue: String(value) })
                : String(value),
          ])}
        />
        <details>
          <summary style={{ cursor: 'pointer' }}>JSON</summary>
          <ScrollArea.Autosize mah={320} viewportProps={{ tabIndex: 0 }} mt="xs">
            <Code block>{JSON.stringify(video.request, null, 2)}</Code>
          </ScrollArea.Autosize>
        </details>
      </Paper>
    </Stack>
  );
}

type Fact = readonly [name: string, value: ReactNode];

function FactTable({ rows }: { readonly rows: readonly Fact[] }) {
  return (
    <Table layout="fixed" withRowBorders={false} verticalSpacing={4} horizontalSpacing={0} variant="vertical">
      <Table.Tbody>
        {rows.map(([name, value]) => (
          <Table.Tr key={name}>
            <Table.Th w={110} c="dimmed" fw={400} bg="transparent" style={{ overflowWrap: 'anywhere' }}>
              {name}
            </Table.Th>
            <Table.Td style={{ overflowWrap: 'anywhere' }}>{value}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

/** Title of a model, with the id by which programs call it. */
function ModelName({ id }: { readonly id: string }) {
  const titleOf = useModelTitle();
  return <span title={id}>{titleOf(id)}</span>;
}

/** Creates share links for a video. */
function ShareButton({ taskId }: { readonly taskId: string }) {
  const { t } = useTranslation('studio');
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <Button variant="default" leftSection={<IconShare size={16} />} onClick={() => setIsOpen(true)}>
        {t('share.action')}
      </Button>
      {isOpen ? (
        <Suspense>
          <ShareDialog taskId={taskId} onClose={() => setIsOpen(false)} />
        </Suspense>
      ) : null}
    </>
  );
}
