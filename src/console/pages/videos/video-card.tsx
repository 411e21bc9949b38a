import { ActionIcon, Anchor, Badge, Card, Checkbox, Group, Stack, Text, Tooltip } from '@mantine/core';
import { IconAlertTriangle, IconArrowBackUp, IconDownload, IconFileInfo, IconMovie } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { memo } from 'react';
import { useTranslation } from 'react-i18next';
import { CollectButton } from '../../components/collect-button.tsx';
import { CreditAmount, useFormatCredits } from '../../components/credit-amount.tsx';
import { FavouriteButton } from '../../components/favourite-button.tsx';
import { HoverClip } from '../../components/hover-clip.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { TaskProgress, VideoStatusBadge } from '../../components/task-status.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { formatLabelled } from '../../data/format-text.ts';
import { downloadVideo, type Video } from '../../data/videos.ts';
import { useModelTitle } from '../studio/models.ts';

interface VideoCardProps {
  readonly video: Video;
  readonly onReuse: (video: Video) => void;
  /** Shows a finished video over the whole window. */
  readonly onEnlarge: (taskId: string) => void;
  /** Set while videos are being selected for a bulk action. */
  readonly selected?: boolean;
  readonly onSelect?: (video: Video) => void;
}

/**
 * One video of the user, from submission to playback; for a failure the reason, and whether it was charged. Memoized,
 * because a click on the page of 24 cards would render all of them before the next frame.
 */
export const VideoCard = memo(function VideoCard({
  video,
  onReuse,
  onEnlarge,
  selected = false,
  onSelect,
}: VideoCardProps) {
  const { t } = useTranslation('studio');
  const titleOf = useModelTitle();
  const prompt = video.prompt === '' ? t('noPrompt') : video.prompt;
  return (
    <Card p="sm" component="article" aria-label={prompt} className={selected ? 'chosen' : ''}>
      <Card.Section p="sm" pb={0}>
        <CardMedia video={video} onEnlarge={onEnlarge} />
      </Card.Section>
      <Stack gap={6} mt="sm" flex={1}>
        {onSelect === undefined ? null : (
          <Checkbox
            label={t('choose')}
            aria-label={formatLabelled(t('choose'), prompt)}
            checked={selected}
            onChange={() => onSelect(video)}
          />
        )}
        <Text size="sm" component="div" mih="2lh">
          <Text
            size="sm"
            lineClamp={video.source === null ? 2 : 1}
            title={video.prompt}
            style={{ overflowWrap: 'anywhere' }}
          >
            {prompt}
          </Text>
          {video.source === null ? null : <SourceLink source={video.source} />}
        </Text>
        <Group gap={8} wrap="nowrap">
          {video.status === 'SUCCESS' ? null : <VideoStatusBadge {...video} />}
          <Text size="xs" c="dimmed" truncate flex={1} title={video.model}>
            {titleOf(video.model)}
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
            {video.submitted_by === undefined ? null : ` · ${video.submitted_by}`}
          </Text>
          <CardActions video={video} onReuse={onReuse} />
        </Group>
      </Stack>
    </Card>
  );
});

/** The video from which this one was made. */
function SourceLink({ source }: { readonly source: NonNullable<Video['source']> }) {
  const { t } = useTranslation('studio');
  const { task_id: taskId, operation, prompt } = source;
  const text = formatLabelled(t(`madeFrom.${operation}`), prompt === '' ? t('noPrompt') : prompt);
  return (
    <Anchor
      size="xs"
      c="dimmed"
      truncate
      display="block"
      title={text}
      renderRoot={(props) => <Link to="/videos/$taskId" params={{ taskId }} {...props} />}
    >
      {text}
    </Anchor>
  );
}

interface CardActionsProps extends Pick<VideoCardProps, 'video' | 'onReuse'> {
  /** The lightbox covers dialogs: none can open from it. */
  readonly isInLightbox?: boolean;
}

/** Actions on a video, on its card and in the lightbox. */
export function CardActions({ video, onReuse, isInLightbox = false }: CardActionsProps) {
  const { t } = useTranslation('studio');
  return (
    <Group gap={2} wrap="nowrap">
      <FavouriteButton id={video.task_id} />
      {isInLightbox ? null : <CollectButton id={video.task_id} />}
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
          <IconFileInfo size={16} />
        </ActionIcon>
      </Tooltip>
    </Group>
  );
}

/** The upper part of a card, of the same height for every state, so that no card leaves a hole beside another. */
function CardMedia({ video, onEnlarge }: Pick<VideoCardProps, 'video' | 'onEnlarge'>) {
  const { t } = useTranslation('studio');
  if (video.status === 'FAILURE') return <FailureTile video={video} />;
  if (video.status !== 'SUCCESS') return <TaskProgress video={video} />;
  return (
    <button
      type="button"
      className="tile mantine-focus-auto"
      aria-label={formatLabelled(t('play'), video.prompt === '' ? t('noPrompt') : video.prompt)}
      onClick={() => onEnlarge(video.task_id)}
    >
      <HoverClip video={video} fallback={<IconMovie size={22} />} />
    </button>
  );
}

/** Why a video failed; leads to its page, which has the remedy and the vendor's message. */
function FailureTile({ video }: { readonly video: Video }) {
  const { t } = useTranslation('studio');
  const failure = useTranslation('video-failures');
  const formatCredits = useFormatCredits();
  return (
    <Link to="/videos/$taskId" params={{ taskId: video.task_id }} className="tile failure-tile mantine-focus-auto">
      <span>
        <IconAlertTriangle size={22} aria-hidden />
        <strong>{failure.t(`${video.fail_cause === '' ? 'unknown' : video.fail_cause}.text`)}</strong>
        {t(video.imported ? 'importedCost' : 'refunded', { price: formatCredits(video.quota) })}
      </span>
    </Link>
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
