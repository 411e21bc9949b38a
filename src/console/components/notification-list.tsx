import { Group, Indicator, Text, UnstyledButton, VisuallyHidden } from '@mantine/core';
import { IconMovie } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { formatColon } from '../data/format-values.ts';
import { type NotificationItemData, notificationPath } from '../data/notifications.ts';
import { type Video, videosQuery } from '../data/videos.ts';
import { NEWEST_VIDEOS_COUNT } from '../page-start.ts';
import { NotificationItem, useOpenNotification } from './notification-item.tsx';
import { RelativeTime } from './relative-time.tsx';
import { HoverClip } from './video-player.tsx';

interface NotificationListProps {
  readonly items: readonly NotificationItemData[];
  /** Shortens texts where space is tight. */
  readonly short?: boolean;
  readonly onOpen?: () => void;
}

/** Notifications, with the videos that are ready as images; several in a row are one group. */
export function NotificationList({ items, short = false, onOpen }: NotificationListProps) {
  const videos = useReadyVideos(items);
  return groupReady(items, videos).map((group) => {
    const [first] = group;
    if (first === undefined) return null;
    const key = `${first.type}${first.id}`;
    return group.length === 1 ? (
      <NotificationItem key={key} item={first} video={videos.get(first.id)} short={short} onOpen={onOpen} />
    ) : (
      <ReadyVideos key={key} items={group} videos={videos} onOpen={onOpen} />
    );
  });
}

const VIDEO_PAGE = /^\/videos\/(\w+)$/;

/** Finished videos by the notification about them, as far as they are among the newest. */
function useReadyVideos(items: readonly NotificationItemData[]): ReadonlyMap<number, Video> {
  const named = items.flatMap((item) => {
    const taskId = VIDEO_PAGE.exec(notificationPath(item) ?? '')?.[1];
    return taskId === undefined ? [] : [[item.id, taskId] as const];
  });
  const { data } = useQuery({ ...videosQuery(1, NEWEST_VIDEOS_COUNT), enabled: named.length > 0 });
  return new Map(
    named.flatMap(([id, taskId]) => {
      const video = data?.data.find((each) => each.task_id === taskId && each.status === 'SUCCESS');
      return video === undefined ? [] : [[id, video] as const];
    }),
  );
}

/** Shorter runs are shown one by one, with their prompts. */
const MIN_GROUP = 3;

/** Combines videos that became ready one after another; everything else is a group of its own. */
function groupReady(
  items: readonly NotificationItemData[],
  videos: ReadonlyMap<number, Video>,
): readonly (readonly NotificationItemData[])[] {
  const runs: NotificationItemData[][] = [];
  let previous: NotificationItemData | undefined;
  for (const item of items) {
    const isNext = previous !== undefined && videos.has(previous.id) && videos.has(item.id);
    if (isNext) runs.at(-1)?.push(item);
    else runs.push([item]);
    previous = item;
  }
  return runs.flatMap((run) => (run.length < MIN_GROUP ? run.map((item) => [item]) : [run]));
}

interface ReadyVideosProps extends Pick<NotificationListProps, 'items' | 'onOpen'> {
  readonly videos: ReadonlyMap<number, Video>;
}

function ReadyVideos({ items, videos, onOpen }: ReadyVideosProps) {
  const { t } = useTranslation('notifications');
  const isRead = items.every((item) => item.is_read);
  return (
    <div className="notification">
      <Text size="sm" fw={isRead ? 400 : 650} mb={6}>
        {isRead ? null : <VisuallyHidden>{t('unread') + formatColon()}</VisuallyHidden>}
        {t('videosReady', { count: items.length })}
      </Text>
      <Group gap="xs">
        {items.map((item) => {
          const video = videos.get(item.id);
          return video === undefined ? null : <VideoLink key={item.id} item={item} video={video} onOpen={onOpen} />;
        })}
      </Group>
      <Text size="xs" c="dimmed" mt={6}>
        <RelativeTime at={items[0]?.created_at ?? 0} />
      </Text>
    </div>
  );
}

interface VideoLinkProps extends Pick<NotificationListProps, 'onOpen'> {
  readonly item: NotificationItemData;
  readonly video: Video;
}

function VideoLink({ item, video, onOpen }: VideoLinkProps) {
  const open = useOpenNotification(item, onOpen);
  const name = item.content || item.title;
  return (
    <Indicator disabled={item.is_read} size={8} offset={2} color="accent">
      <UnstyledButton
        component="a"
        className="tile"
        href={notificationPath(item)}
        aria-label={name}
        title={name}
        onClick={open}
      >
        <HoverClip video={video} fallback={<IconMovie size={19} />} />
      </UnstyledButton>
    </Indicator>
  );
}
