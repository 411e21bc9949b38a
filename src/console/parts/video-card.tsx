import {
  ActionIcon,
  Alert,
  AspectRatio,
  Card,
  Center,
  Checkbox,
  Group,
  Skeleton,
  Stack,
  Text,
  Tooltip,
} from '@mantine/core';
import { useInViewport } from '@mantine/hooks';
import { IconArrowBackUp, IconArrowsMaximize, IconDownload } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { saveVideo } from '../data/downloads.ts';
import { toElapsed } from '../data/time.ts';
import { type VideoRow, videoQuery } from '../data/videos.ts';
import { FavouriteStar } from './favourite-star.tsx';
import { Moment } from './moment.tsx';
import { useNotices } from './notices.tsx';
import { Player } from './player.tsx';
import { Quota, useQuota } from './quota.tsx';
import { StatusBadge, TaskStage } from './task-stage.tsx';

interface VideoCardProps {
  readonly video: VideoRow;
  readonly onReuse: (video: VideoRow) => void;
  /** Where videos are chosen to be dealt with together. */
  readonly chosen?: boolean;
  readonly onChoose?: () => void;
}

/** One video of one's own, from being sent to being played; of a failure why, and whether it cost anything. */
export function VideoCard({ video, onReuse, chosen = false, onChoose }: VideoCardProps) {
  const { t } = useTranslation('studio');
  const prompt = video.prompt === '' ? t('noPrompt') : video.prompt;
  return (
    <Card p="sm" component="article" aria-label={prompt} className={chosen ? 'chosen' : ''}>
      <Card.Section p="sm" pb={0}>
        {video.status === 'SUCCESS' ? <Played video={video} /> : <TaskStage video={video} />}
      </Card.Section>
      <Stack gap={6} mt="sm" flex={1}>
        {onChoose === undefined ? null : (
          <Checkbox label={t('choose')} aria-label={`${t('choose')}: ${prompt}`} checked={chosen} onChange={onChoose} />
        )}
        <Text size="sm" lineClamp={2} title={video.prompt} style={{ overflowWrap: 'anywhere' }}>
          {prompt}
        </Text>
        {video.status === 'FAILURE' ? <FailureReason video={video} /> : null}
        <Group gap={8} wrap="nowrap">
          <StatusBadge status={video.status} />
          <Text size="xs" c="dimmed" truncate flex={1}>
            {video.model}
          </Text>
          {video.status === 'SUCCESS' ? <Quota value={video.quota} fz="xs" c="dimmed" /> : null}
        </Group>
        <Group justify="space-between" wrap="nowrap" gap="xs" mt="auto">
          <Text size="xs" c="dimmed" component="div" truncate>
            <Moment at={video.submit_time} />
            {video.status === 'SUCCESS' ? (
              <>
                {' · '}
                {toElapsed(video.finish_time - video.submit_time)}
              </>
            ) : null}
          </Text>
          <Group gap={2} wrap="nowrap">
            <FavouriteStar id={video.task_id} />
            <Tooltip label={t('reuseHint')}>
              <ActionIcon aria-label={t('reuse')} onClick={() => onReuse(video)}>
                <IconArrowBackUp size={17} />
              </ActionIcon>
            </Tooltip>
            {video.status === 'SUCCESS' ? <Download id={video.task_id} /> : null}
            <Tooltip label={t('open')}>
              <ActionIcon
                aria-label={t('open')}
                renderRoot={(props) => <Link to="/videos/$taskId" params={{ taskId: video.task_id }} {...props} />}
              >
                <IconArrowsMaximize size={16} />
              </ActionIcon>
            </Tooltip>
          </Group>
        </Group>
      </Stack>
    </Card>
  );
}

/** Why it failed, in the vendor's words, and that it cost nothing. */
export function FailureReason({ video }: { readonly video: VideoRow }) {
  const { t } = useTranslation('studio');
  const money = useQuota();
  return (
    <Alert color="red" variant="light" p="xs">
      <Text size="xs" style={{ overflowWrap: 'anywhere' }}>
        {video.fail_reason}
      </Text>
      <Text size="xs" fw={600} mt={2}>
        {t('refunded', { price: money(video.quota) })}
      </Text>
    </Alert>
  );
}

/** The player, once the card is on the screen. */
function Played({ video }: { readonly video: VideoRow }) {
  const { t } = useTranslation('studio');
  const { ref, inViewport } = useInViewport();
  const detail = useQuery({ ...videoQuery(video.task_id), enabled: inViewport });
  return (
    <div ref={ref}>
      {detail.data !== undefined && detail.data.play_url !== '' ? (
        <Player src={detail.data.play_url} title={video.prompt} />
      ) : (
        <AspectRatio ratio={16 / 9}>
          {detail.isLoading ? (
            <Skeleton radius="md" />
          ) : (
            <Center c="dimmed" fz="sm">
              {detail.data === undefined ? null : t('noFile')}
            </Center>
          )}
        </AspectRatio>
      )}
    </div>
  );
}

function Download({ id }: { readonly id: string }) {
  const { t } = useTranslation('studio');
  const queries = useQueryClient();
  const notices = useNotices();
  return (
    <Tooltip label={t('download')}>
      <ActionIcon
        aria-label={t('download')}
        onClick={() => void saveVideo(queries, id).catch((error: Error) => notices.failed(error.message))}
      >
        <IconDownload size={17} />
      </ActionIcon>
    </Tooltip>
  );
}
