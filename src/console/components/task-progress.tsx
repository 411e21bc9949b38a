import { AspectRatio, Badge, Center, Group, Loader, Progress, Stack, Text } from '@mantine/core';
import { IconMoodSad } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { isTerminal, type TaskStatus } from '../../contract/states.ts';
import { formatElapsed } from '../data/format-time.ts';
import type { Video } from '../data/video-queries.ts';
import { TASK_STATUS_COLOR } from './task-status-color.ts';

export function VideoStatusBadge({ status }: { readonly status: TaskStatus }) {
  const { t } = useTranslation('studio');
  return (
    <Badge color={TASK_STATUS_COLOR[status]} style={{ flexShrink: 0 }}>
      {t(`stage.${status}`)}
    </Badge>
  );
}

/** What stands in a video's place until there is one: its stage, how long it has taken, how far it is; or that it failed. */
export function TaskProgress({ video }: { readonly video: Video }) {
  const { t } = useTranslation('studio');
  const unfinished = !isTerminal(video.status);
  const now = useNow(unfinished);
  const percent = Number.parseInt(video.progress, 10) || 0;
  return (
    <AspectRatio
      ratio={16 / 9}
      style={{ borderRadius: 10, overflow: 'hidden' }}
      bg="var(--mantine-color-default-hover)"
    >
      <Center p="md">
        {unfinished ? (
          <Stack align="center" gap="sm" w="70%">
            <Group gap="xs">
              <Loader size="xs" />
              <Text size="sm" fw={600}>
                {t(`stage.${video.status}`)}
                {percent > 0 ? ` ${percent} %` : ''}
              </Text>
            </Group>
            <Progress
              w="100%"
              value={percent > 0 ? percent : 100}
              animated={percent === 0}
              striped={percent === 0}
              aria-label={t(`stage.${video.status}`)}
            />
            <Text size="xs" c="dimmed" style={{ fontVariantNumeric: 'tabular-nums' }}>
              {t('elapsed', { time: formatElapsed(now / 1000 - video.submit_time) })}
            </Text>
          </Stack>
        ) : (
          <Stack align="center" gap={4} c="dimmed">
            <IconMoodSad size={28} />
            <Text size="sm">{t(`stage.${video.status}`)}</Text>
          </Stack>
        )}
      </Center>
    </AspectRatio>
  );
}

/** The present time, once a second while it matters. */
function useNow(running: boolean): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [running]);
  return now;
}
