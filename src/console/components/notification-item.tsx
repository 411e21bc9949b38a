import { Box, Group, Indicator, Text, UnstyledButton, VisuallyHidden } from '@mantine/core';
import { IconBell, IconFlask, IconInbox, IconLifebuoy, IconMovie } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import type { MouseEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { formatColon } from '../data/format-values.ts';
import {
  markAllRead,
  markRead,
  NOTIFICATIONS_KEY,
  type NotificationItemData,
  notificationPath,
} from '../data/notifications.ts';
import { toSafeRedirectPath } from '../data/safe-redirect-path.ts';
import type { Video } from '../data/videos.ts';
import { RelativeTime } from './relative-time.tsx';
import { HoverClip } from './video-player.tsx';

const ICONS = {
  system: IconBell,
  ticket_reply: IconLifebuoy,
  ticket_status: IconLifebuoy,
  beta_result: IconFlask,
} as const;

interface ItemProps {
  readonly item: NotificationItemData;
  /** The finished video that it is about. */
  readonly video?: Video | undefined;
  /** Shortens the text where space is tight. */
  readonly short?: boolean;
  readonly onOpen?: () => void;
}

/** Icon or clip, title, text and time of a notification. */
export function NotificationText({ item, video, short = false }: Omit<ItemProps, 'onOpen'>) {
  const { t } = useTranslation('notifications');
  const isVideo = notificationPath(item)?.startsWith('/videos/') === true;
  const Icon = isVideo ? IconMovie : (ICONS[item.type as keyof typeof ICONS] ?? IconInbox);
  return (
    <Group wrap="nowrap" align="flex-start" gap="sm">
      <Indicator disabled={item.is_read} size={8} offset={2} color="accent" mt={2}>
        {video === undefined ? (
          <Icon size={19} stroke={1.6} />
        ) : (
          <span className="tile">
            <HoverClip video={video} fallback={<Icon size={19} stroke={1.6} />} />
          </span>
        )}
      </Indicator>
      <Box flex={1} miw={0}>
        <Text size="sm" fw={item.is_read ? 400 : 650} style={{ overflowWrap: 'anywhere' }} lineClamp={short ? 2 : 4}>
          {item.is_read ? null : <VisuallyHidden>{t('unread') + formatColon()}</VisuallyHidden>}
          {item.title}
        </Text>
        <Text
          size={short ? 'xs' : 'sm'}
          c="dimmed"
          style={{ overflowWrap: 'anywhere', whiteSpace: short ? undefined : 'pre-wrap' }}
          lineClamp={short ? 2 : undefined}
        >
          {item.content}
        </Text>
        <Text size="xs" c="dimmed" mt={2}>
          <RelativeTime at={item.created_at} />
        </Text>
      </Box>
    </Group>
  );
}

/** One notification; a click opens its target and marks it as read. */
export function NotificationItem({ item, video, short = false, onOpen }: ItemProps) {
  const open = useOpenNotification(item, onOpen);
  const target = notificationPath(item);
  const text = <NotificationText item={item} video={video} short={short} />;
  return target === undefined ? (
    <UnstyledButton className="notification" onClick={open}>
      {text}
    </UnstyledButton>
  ) : (
    <UnstyledButton className="notification" component="a" href={toSafeRedirectPath(target)} onClick={open}>
      {text}
    </UnstyledButton>
  );
}

/** Opens the target of a notification and marks it as read. */
export function useOpenNotification(item: NotificationItemData, onOpen?: () => void): (event: MouseEvent) => void {
  const { history } = useRouter();
  const queries = useQueryClient();
  const read = useMutation({
    mutationFn: () => markRead(item.id),
    onSuccess: () => queries.invalidateQueries({ queryKey: NOTIFICATIONS_KEY }),
  });
  const target = notificationPath(item);
  return (event) => {
    if (!item.is_read) read.mutate();
    // With a modifier key the browser opens the link in a new tab.
    if (target === undefined || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    onOpen?.();
    history.push(toSafeRedirectPath(target));
  };
}

/** Mutation that marks all notifications as read. */
export function useMarkAllRead() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: markAllRead,
    onSuccess: () => queries.invalidateQueries({ queryKey: NOTIFICATIONS_KEY }),
  });
}
