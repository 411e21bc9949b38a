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
import { IconArrowBackUp, IconDownload, IconLifebuoy, IconTrash } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { isTerminal } from '../../../contract/states.ts';
import { toElapsed, toMoment } from '../../data/time.ts';
import { deleteVideo, type VideoDetail, videoQuery } from '../../data/videos.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { Copy } from '../../parts/copy.tsx';
import { Failure } from '../../parts/failure.tsx';
import { FavouriteStar } from '../../parts/favourite-star.tsx';
import { useNotices } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { Player } from '../../parts/player.tsx';
import { Quota } from '../../parts/quota.tsx';
import { StatusBadge, TaskStage } from '../../parts/task-stage.tsx';
import { FailureReason } from '../../parts/video-card.tsx';

/** One video with everything known about it. */
export function VideoPage() {
  const { t } = useTranslation('studio');
  const { taskId } = useParams({ from: '/app/videos/$taskId' });
  const video = useQuery(videoQuery(taskId));
  return (
    <Page
      title={t('videosTitle')}
      lead={
        <Anchor size="sm" renderRoot={(props) => <Link to="/videos" {...props} />}>
          {t('seeAll')}
        </Anchor>
      }
      size="lg"
      actions={video.data === undefined ? undefined : <Actions video={video.data} />}
    >
      <Failure error={video.error} retry={() => void video.refetch()} />
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
                <TaskStage video={video.data} />
              )
            ) : (
              <Player src={video.data.play_url} title={video.data.prompt} tools />
            )}
            <Text mt="md" style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
              {video.data.prompt === '' ? t('noPrompt') : video.data.prompt}
            </Text>
          </Grid.Col>
          <Grid.Col span={{ base: 12, md: 4 }}>
            <Facts video={video.data} />
          </Grid.Col>
        </Grid>
      )}
    </Page>
  );
}

function Actions({ video }: { readonly video: VideoDetail }) {
  const { t } = useTranslation('studio');
  const queries = useQueryClient();
  const notices = useNotices();
  const navigate = useNavigate();
  const remove = async (): Promise<void> => {
    await deleteVideo(video.task_id);
    await queries.invalidateQueries({ queryKey: ['videos', 'list'] });
    notices.done(t('deleted'));
    await navigate({ to: '/videos' });
  };
  return (
    <>
      <FavouriteStar id={video.task_id} />
      <Button
        variant="default"
        leftSection={<IconArrowBackUp size={16} />}
        renderRoot={(props) => <Link to="/studio" search={{ again: video.task_id }} {...props} />}
      >
        {t('reuse')}
      </Button>
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
        <Confirm
          title={t('deleteTitle')}
          action={t('delete')}
          onConfirm={remove}
          trigger={(open) => (
            <Button variant="default" color="red" leftSection={<IconTrash size={16} />} onClick={open}>
              {t('delete')}
            </Button>
          )}
        >
          {t('deleteText')}
        </Confirm>
      ) : null}
    </>
  );
}

function Facts({ video }: { readonly video: VideoDetail }) {
  const { t } = useTranslation('studio');
  const rows: [string, ReactNode][] = [
    [t('filterStatus'), <StatusBadge key="status" status={video.status} />],
    [t('model'), video.model],
    [
      t('cost'),
      video.refunded ? (
        <s key="cost">
          <Quota value={video.quota} />
        </s>
      ) : (
        <Quota key="cost" value={video.quota} />
      ),
    ],
    [t('submitted'), toMoment(video.submit_time)],
    ...(video.finish_time === 0
      ? []
      : ([
          [
            t('finished'),
            `${toMoment(video.finish_time)} (${t('took', { time: toElapsed(video.finish_time - video.submit_time) })})`,
          ],
        ] satisfies [string, ReactNode][])),
  ];
  return (
    <Stack>
      {video.status === 'FAILURE' ? <FailureReason video={video} /> : null}
      <Paper withBorder p="md">
        <Title order={2} mb="xs">
          {t('facts')}
        </Title>
        <Table layout="fixed" withRowBorders={false} verticalSpacing={4} horizontalSpacing={0} variant="vertical">
          <Table.Tbody>
            {rows.map(([name, value]) => (
              <Table.Tr key={name}>
                <Table.Th w={92} c="dimmed" fw={400} bg="transparent">
                  {name}
                </Table.Th>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>{value}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
        <Group gap={4} wrap="nowrap" mt="xs">
          <Code style={{ overflowWrap: 'anywhere' }}>{video.task_id}</Code>
          <Copy text={video.task_id} />
        </Group>
      </Paper>
      <Paper withBorder p="md">
        <Title order={2} mb="xs">
          {t('parameters')}
        </Title>
        <ScrollArea.Autosize mah={320} viewportProps={{ tabIndex: 0 }}>
          <Code block>{JSON.stringify(video.request, null, 2)}</Code>
        </ScrollArea.Autosize>
      </Paper>
    </Stack>
  );
}
