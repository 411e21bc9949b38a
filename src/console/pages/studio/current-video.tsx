import { ActionIcon, Button, Group, Paper, Text } from '@mantine/core';
import {
  IconArrowBackUp,
  IconArrowsShuffle,
  IconDownload,
  IconFileInfo,
  IconPhotoDown,
  IconPlayerTrackNext,
  IconRefresh,
  IconShare,
  IconWand,
} from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CopyIconButton } from '../../components/copy-button.tsx';
import { CreditAmount, useFormatCredits } from '../../components/credit-amount.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { TaskProgress, VideoFailure, VideoStatusBadge } from '../../components/task-status.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { CollectButton, FavouriteButton } from '../../components/video-buttons.tsx';
import { VideoPlayer } from '../../components/video-player.tsx';
import { formatDuration } from '../../data/format-values.ts';
import { useModelTitle } from '../../data/self.ts';
import { downloadVideo, uploadPoster, type Video, type VideoDetail, videoQuery } from '../../data/videos.ts';
import type { RemixActions } from './remix-actions.ts';

/**
 * One video in the middle of the studio, as large as possible: its progress, then the player, or the reason of its
 * failure.
 */
export function CurrentVideo({ video, actions }: { readonly video: Video; readonly actions: RemixActions }) {
  const { t } = useTranslation('studio');
  return (
    <Paper
      withBorder
      component="article"
      aria-label={video.prompt === '' ? t('noPrompt') : video.prompt}
      className="stage"
      data-failed={video.status === 'FAILURE' || undefined}
    >
      {video.status === 'FAILURE' ? null : (
        <div className="stage-media">
          {video.status === 'SUCCESS' ? (
            <VideoPlayer src={video.play_url} title={video.prompt} frameControls ambient {...firstFrameUpload(video)} />
          ) : (
            <TaskProgress video={video} />
          )}
        </div>
      )}
      <div className="stage-info">
        <Prompt text={video.prompt} lines={5} />
        <VideoFacts video={video} />
        {video.status === 'FAILURE' ? <VideoFailure video={video} /> : null}
        <RemixButtons video={video} actions={actions} />
        <StageLineage video={video} />
      </div>
    </Paper>
  );
}

const ShareDialog = lazy(() => import('../videos/share-dialog.tsx'));
const Lineage = lazy(async () => ({ default: (await import('../videos/lineage.tsx')).Lineage }));

/** Versions of the video; loaded only for one that has some. */
function StageLineage({ video }: { readonly video: Video }) {
  const { data } = useQuery({ ...videoQuery(video.task_id), enabled: video.status === 'SUCCESS' });
  if (data === undefined || (data.source === null && data.children.length === 0)) return null;
  return (
    <Suspense>
      <Lineage video={data} />
    </Suspense>
  );
}

/** Model, cost and duration of one video in a line. @param quiet omits the usual state, and announces nothing */
export function VideoFacts({ video, quiet = false }: { readonly video: Video; readonly quiet?: boolean }) {
  const { t } = useTranslation('studio');
  const titleOf = useModelTitle();
  return (
    <Group gap={8} c="dimmed" fz="xs">
      {/* Live region, because the video may finish while the user is elsewhere on the page. */}
      {quiet && video.status === 'SUCCESS' ? null : (
        <span role={quiet ? undefined : 'status'}>
          <VideoStatusBadge {...video} />
        </span>
      )}
      <span>{titleOf(video.model)}</span>
      {video.status === 'FAILURE' ? <span>{t('notCharged')}</span> : <CreditAmount value={video.quota} />}
      {video.status === 'SUCCESS' ? (
        <span>{t('took', { time: formatDuration(video.finish_time - video.submit_time) })}</span>
      ) : null}
      <RelativeTime at={video.submit_time} />
    </Group>
  );
}

/** Uploads the first frame shown as the poster of a video without one. */
export const firstFrameUpload = (
  video: Pick<VideoDetail, 'poster_url' | 'task_id'>,
): { readonly onFrame?: (frame: HTMLVideoElement) => void } =>
  video.poster_url === '' ? { onFrame: (frame) => uploadPoster(video.task_id, frame) } : {};

interface RemixButtonsProps {
  readonly video: Video;
  readonly actions: RemixActions;
  /** Icons only, besides the first action. */
  readonly compact?: boolean;
  /** On the video's own page, to which no link is needed. */
  readonly isOpen?: boolean;
}

/** Actions on a video: the one that starts a new video shows its price. */
export function RemixButtons({ video, actions, compact = false, isOpen = false }: RemixButtonsProps) {
  const { t } = useTranslation('studio');
  const queries = useQueryClient();
  const toasts = useToasts();
  const formatCredits = useFormatCredits();
  const [isSharing, setSharing] = useState(false);
  const { task_id: id } = video;
  const finished = video.status === 'SUCCESS';
  const act = (name: string, icon: ReactNode, onClick: () => void, key?: string): ReactNode => (
    <ActionButton key={name} {...{ name, icon, onClick, compact }} shortcut={compact ? undefined : key} />
  );
  return (
    <div className="actions">
      <Button
        size="compact-sm"
        variant="light"
        leftSection={video.status === 'FAILURE' ? <IconRefresh size={15} /> : <IconArrowsShuffle size={15} />}
        aria-keyshortcuts={compact ? undefined : 'v'}
        onClick={() => (video.status === 'FAILURE' ? actions.retry(id) : actions.vary(id))}
      >
        {t(video.status === 'FAILURE' ? 'retryPrice' : 'varyPrice', {
          price: formatCredits(video.reserved ?? video.quota),
        })}
      </Button>
      {act(t('reuse'), <IconArrowBackUp size={16} />, () => actions.remix(id), 'r')}
      {finished ? (
        <>
          {actions.offered.map((operation) =>
            act(
              t(`operations.${operation}`),
              operation === 'edit' ? <IconWand size={16} /> : <IconPlayerTrackNext size={16} />,
              () => actions.change(id, operation),
              operation === 'edit' ? 'd' : 'e',
            ),
          )}
          {act(t('share.action'), <IconShare size={16} />, () => setSharing(true))}
          <ActionIcon
            data-hint={t('takeLastFrame')}
            aria-label={t('takeLastFrame')}
            aria-keyshortcuts={compact ? undefined : 'l'}
            onClick={() => actions.takeLastFrame(id)}
          >
            <IconPhotoDown size={17} />
          </ActionIcon>
          <ActionIcon
            data-hint={t('download')}
            aria-label={t('download')}
            onClick={() => void downloadVideo(queries, id).catch((error: Error) => toasts.error(error.message))}
          >
            <IconDownload size={17} />
          </ActionIcon>
        </>
      ) : null}
      <FavouriteButton id={id} />
      <CollectButton id={id} />
      {isOpen ? null : (
        <ActionIcon
          data-hint={t('open')}
          aria-label={t('open')}
          renderRoot={(props) => <Link to="/videos/$taskId" params={{ taskId: id }} {...props} />}
        >
          <IconFileInfo size={17} />
        </ActionIcon>
      )}
      {isSharing ? (
        <Suspense>
          <ShareDialog taskId={id} onClose={() => setSharing(false)} />
        </Suspense>
      ) : null}
    </div>
  );
}

interface ActionButtonProps {
  readonly name: string;
  readonly icon: ReactNode;
  readonly compact: boolean;
  readonly shortcut: string | undefined;
  readonly onClick: () => void;
}

function ActionButton({ name, icon, compact, shortcut, onClick }: ActionButtonProps) {
  return compact ? (
    <ActionIcon data-hint={name} aria-label={name} onClick={onClick}>
      {icon}
    </ActionIcon>
  ) : (
    <Button size="compact-sm" variant="default" leftSection={icon} aria-keyshortcuts={shortcut} onClick={onClick}>
      {name}
    </Button>
  );
}

/** A prompt with its copy button. */
export function Prompt({ text, lines }: { readonly text: string; readonly lines: number }) {
  const { t } = useTranslation('studio');
  return (
    <div className="prompt-text">
      <Text size="sm" lineClamp={lines} title={text} style={{ overflowWrap: 'anywhere' }}>
        {text === '' ? t('noPrompt') : text}
      </Text>
      {text === '' ? null : <CopyIconButton text={text} label={t('copyPrompt')} />}
    </div>
  );
}
