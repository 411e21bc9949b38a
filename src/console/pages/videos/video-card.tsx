import {
  ActionIcon,
  AspectRatio,
  Badge,
  Card,
  Center,
  Checkbox,
  Group,
  Skeleton,
  Stack,
  Text,
  Tooltip,
  UnstyledButton,
} from '@mantine/core';
import { useInViewport } from '@mantine/hooks';
import { IconArrowBackUp, IconArrowsMaximize, IconDownload, IconPlayerPlayFilled } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { memo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CreditAmount } from '../../components/credit-amount.tsx';
import { FavouriteButton } from '../../components/favourite-button.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { TaskProgress, VideoFailure, VideoStatusBadge } from '../../components/task-status.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { VideoPlayer } from '../../components/video-player.tsx';
import { formatDuration } from '../../data/format-times.ts';
import { downloadVideo, uploadPoster, type Video, videoQuery } from '../../data/videos.ts';

interface VideoCardProps {
  readonly video: Video;
  readonly onReuse: (video: Video) => void;
  /** Set while videos are being selected for a bulk action. */
  readonly selected?: boolean;
  readonly onSelect?: (video: Video) => void;
}

/**
 * One video of the user, from submission to playback; for a failure the reason, and whether it was charged. Memoized,
 * because a click on the page of 24 cards would render all of them before the next frame.
 */
export const VideoCard = memo(function VideoCard({ video, onReuse, selected = false, onSelect }: VideoCardProps) {
  const { t } = useTranslation('studio');
  const prompt = video.prompt === '' ? t('noPrompt') : video.prompt;
  return (
    <Card p="sm" component="article" aria-label={prompt} className={selected ? 'chosen' : ''}>
      <Card.Section p="sm" pb={0}>
        {video.status === 'SUCCESS' ? <PosterOrPlayer video={video} /> : <TaskProgress video={video} />}
      </Card.Section>
      <Stack gap={6} mt="sm" flex={1}>
        {onSelect === undefined ? null : (
          <Checkbox
            label={t('choose')}
            aria-label={`${t('choose')}: ${prompt}`}
            checked={selected}
            onChange={() => onSelect(video)}
          />
        )}
        <Text size="sm" lineClamp={2} title={video.prompt} style={{ overflowWrap: 'anywhere' }}>
          {prompt}
        </Text>
        {video.status === 'FAILURE' ? <VideoFailure video={video} /> : null}
        <Group gap={8} wrap="nowrap">
          <VideoStatusBadge {...video} />
          <Text size="xs" c="dimmed" truncate flex={1}>
            {video.model}
          </Text>
          {video.imported ? (
            <Badge size="xs" variant="default" title={t('importedHint')}>
              {t('imported')}
            </Badge>
          ) : null}
          {video.status === 'SUCCESS' ? <CreditAmount value={video.quota} fz="xs" c="dimmed" /> : null}
        </Group>
        <Group justify="space-between" wrap="nowrap" gap="xs" mt="auto">
          <Text size="xs" c="dimmed" component="div" truncate>
            <RelativeTime at={video.submit_time} />
            {video.status === 'SUCCESS' ? (
              <>
                {' · '}
                {formatDuration(video.finish_time - video.submit_time)}
              </>
            ) : null}
          </Text>
          <Group gap={2} wrap="nowrap">
            <FavouriteButton id={video.task_id} />
            <Tooltip label={t('reuseHint')}>
              <ActionIcon aria-label={t('reuse')} onClick={() => onReuse(video)}>
                <IconArrowBackUp size={17} />
              </ActionIcon>
            </Tooltip>
            {video.status === 'SUCCESS' ? <DownloadButton id={video.task_id} /> : null}
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
});

/** Shows the poster until playback is requested. A video without a poster shows the player, which then creates one. */
function PosterOrPlayer({ video }: { readonly video: Video }) {
  const [isWanted, setWanted] = useState(false);
  const [hasFailed, setFailed] = useState(false);
  const { t } = useTranslation('studio');
  if (video.poster_url === '' || hasFailed) return <LazyPlayer video={video} autoPlay={false} />;
  if (isWanted) return <LazyPlayer video={video} autoPlay />;
  return (
    <VideoPoster
      src={video.poster_url}
      title={video.prompt === '' ? t('noPrompt') : video.prompt}
      onPlay={() => setWanted(true)}
      onError={() => setFailed(true)}
    />
  );
}

/** The player, loaded once the card is visible. */
function LazyPlayer({ video, autoPlay }: { readonly video: Video; readonly autoPlay: boolean }) {
  const { t } = useTranslation('studio');
  const { ref, inViewport } = useInViewport();
  const detail = useQuery({ ...videoQuery(video.task_id), enabled: inViewport });
  return (
    <div ref={ref}>
      {detail.data !== undefined && detail.data.play_url !== '' ? (
        <VideoPlayer
          src={detail.data.play_url}
          title={video.prompt}
          autoPlay={autoPlay}
          {...(video.poster_url === '' ? { onFrame: (frame) => uploadPoster(video.task_id, frame) } : {})}
        />
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

function DownloadButton({ id }: { readonly id: string }) {
  const { t } = useTranslation('studio');
  const queries = useQueryClient();
  const toasts = useToasts();
  return (
    <Tooltip label={t('download')}>
      <ActionIcon
        aria-label={t('download')}
        onClick={() => void downloadVideo(queries, id).catch((error: Error) => toasts.error(error.message))}
      >
        <IconDownload size={17} />
      </ActionIcon>
    </Tooltip>
  );
}

interface VideoPosterProps {
  readonly src: string;
  readonly title: string;
  readonly onPlay: () => void;
  /** Called if the image cannot be shown. */
  readonly onError: () => void;
}

/** Poster of a video; a click starts playback. */
function VideoPoster({ src, title, onPlay, onError }: VideoPosterProps) {
  const { t } = useTranslation('studio');
  return (
    <UnstyledButton onClick={onPlay} aria-label={`${t('play')}: ${title}`} w="100%" pos="relative">
      <AspectRatio ratio={16 / 9} bg="dark.9" style={{ borderRadius: 10, overflow: 'hidden' }}>
        <img src={src} alt="" loading="lazy" onError={onError} style={{ display: 'block', objectFit: 'contain' }} />
      </AspectRatio>
      <IconPlayerPlayFilled
        size={40}
        color="white"
        aria-hidden
        style={{ position: 'absolute', inset: 0, margin: 'auto', filter: 'drop-shadow(0 1px 4px rgb(0 0 0 / 0.6))' }}
      />
    </UnstyledButton>
  );
}
