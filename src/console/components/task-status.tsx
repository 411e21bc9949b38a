import { Alert, AspectRatio, Badge, Center, Code, Group, Loader, Progress, Stack, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { COARSE_PROGRESS, isTerminal, type TaskStatus } from '../../contract/task-states.ts';
import { estimateTimeLeft } from '../../sdk/estimate-time-left.ts';
import { formatDuration, formatEstimate } from '../data/format-values.ts';
import { durationsQuery, isQueued, type Video } from '../data/videos.ts';
import { useFormatCredits } from './credit-amount.tsx';

// Its confirmation dialog is not needed for most videos.
const WaitingVideo = lazy(() => import('./waiting-video.tsx'));

/** Badge with the state of a video, in a user's words. */
export function VideoStatusBadge({ status, queue }: Pick<Video, 'status' | 'queue'>) {
  const { t } = useTranslation('studio');
  return (
    <Badge color={TASK_STATUS_COLOR[status]} style={{ flexShrink: 0 }}>
      {queue === undefined ? t(`stage.${status}`) : t('waiting.badge')}
    </Badge>
  );
}

/** Theme colours of the task states. */
const TASK_STATUS_COLOR: Readonly<Record<TaskStatus, string>> = {
  NOT_START: 'gray',
  SUBMITTED: 'gray',
  QUEUED: 'gray',
  IN_PROGRESS: 'blue',
  SUCCESS: 'teal',
  FAILURE: 'red',
  UNKNOWN: 'yellow',
};

/** Badge with the state of a task, in an administrator's words. */
export function TaskStatusBadge({ status }: { readonly status: TaskStatus }) {
  const { t } = useTranslation('admin');
  return <Badge color={TASK_STATUS_COLOR[status]}>{t(`tasks.states.${status}`)}</Badge>;
}

/** Place and forecast of a task that waits for its start, in an administrator's words. */
export function QueuePlaceText({ queue }: Pick<Video, 'queue'>) {
  const { t } = useTranslation('admin');
  if (queue === undefined) return null;
  const time = formatEstimate(Math.max(queue.starts_in_seconds.p90, 1));
  return (
    <Text size="xs" c="dimmed">
      {t('tasks.place', { position: queue.position, time })}
    </Text>
  );
}

/** Shown in place of an unfinished video: stage and elapsed time, or the failure. */
export function TaskProgress({ video }: { readonly video: Video }) {
  const { t } = useTranslation('studio');
  return (
    <AspectRatio
      ratio={16 / 9}
      style={{ borderRadius: 10, overflow: 'hidden' }}
      bg="var(--mantine-color-default-hover)"
    >
      <Center p="md">
        {isTerminal(video.status) ? (
          <Stack align="center" gap={4} c="dimmed">
            <IconAlertTriangle size={28} />
            <Text size="sm">{t(`stage.${video.status}`)}</Text>
          </Stack>
        ) : isQueued(video) ? (
          <Suspense>
            <WaitingVideo video={video} />
          </Suspense>
        ) : (
          <UnfinishedTask video={video} />
        )}
      </Center>
    </AspectRatio>
  );
}

/** Progress by the vendor's own percentage if there is one, else by elapsed time against the model's usual duration. */
function UnfinishedTask({ video }: { readonly video: Video }) {
  const { t } = useTranslation('studio');
  const elapsed = useNow() / 1000 - video.submit_time;
  const durations = useQuery(durationsQuery);
  const measured = durations.data?.find(({ model }) => model === video.model);
  const estimate = measured === undefined ? undefined : estimateTimeLeft(elapsed, measured);
  const percent = vendorPercent(video);
  const share = percent === undefined ? estimate?.share : percent / 100;
  const stage = t(`stage.${video.status}`);
  return (
    <Stack align="center" gap="sm" w="80%">
      <Group gap="xs">
        <Loader size="xs" />
        <Text size="sm" fw={600}>
          {stage}
          {percent === undefined ? '' : ` ${percent} %`}
        </Text>
      </Group>
      {/* Without an estimate an empty bar would look like a full one. */}
      {share === undefined ? null : <Progress w="100%" value={share * 100} aria-label={stage} />}
      <Text size="xs" c="dimmed" ta="center" style={{ fontVariantNumeric: 'tabular-nums' }}>
        {t('elapsed', { time: formatDuration(Math.max(0, Math.floor(elapsed))) })}
        {estimate === undefined ? '' : ` · ${describeEstimate(estimate, t)}`}
      </Text>
      {measured === undefined ? null : (
        <Text size="xs" c="dimmed" ta="center">
          {t('typicalTime', { fast: formatEstimate(measured.p50_seconds), slow: formatEstimate(measured.p90_seconds) })}
        </Text>
      )}
      <Text size="xs" c="dimmed" ta="center">
        {t('atVendor')}
      </Text>
    </Stack>
  );
}

function describeEstimate(
  estimate: ReturnType<typeof estimateTimeLeft>,
  t: ReturnType<typeof useTranslation<'studio'>>['t'],
): string {
  if (estimate.kind === 'left') return t('timeLeft', { time: formatEstimate(estimate.seconds) });
  return t(estimate.kind === 'almost' ? 'almostDone' : 'slowerThanUsual');
}

/** The vendor's percentage; undefined if the figure only reflects the state. */
function vendorPercent({ progress, status }: Video): number | undefined {
  const percent = Number.parseInt(progress, 10) || 0;
  return percent === COARSE_PROGRESS[status] ? undefined : percent;
}

/** The current time, updated every second. */
function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** Why a video failed and the remedy, whether its price was refunded, and the vendor's message, collapsed. */
export function VideoFailure({ video }: { readonly video: Video }) {
  const { t } = useTranslation('studio');
  const failure = useTranslation('videos');
  const formatCredits = useFormatCredits();
  const cause = video.fail_cause === '' ? 'unknown' : video.fail_cause;
  return (
    <Alert color="red" variant="light" p="xs">
      <Text size="sm" fw={600}>
        {failure.t(`failures.${cause}.text`)}
      </Text>
      <Text size="sm" mt={2}>
        {failure.t(`failures.${cause}.advice`)}
      </Text>
      <Text size="xs" fw={600} mt={4}>
        {t(video.imported ? 'importedCost' : 'refunded', { price: formatCredits(video.quota) })}
      </Text>
      <VendorDetails code={video.error_code} message={video.fail_reason} />
    </Alert>
  );
}

/** The vendor's message, collapsed; renders nothing without one. */
function VendorDetails({ code, message }: { readonly code: string; readonly message: string }) {
  const { t } = useTranslation('studio');
  if (code === '' && message === '') return null;
  return (
    <Text size="xs" mt={4} component="details" style={{ overflowWrap: 'anywhere' }}>
      <summary style={{ cursor: 'pointer' }}>{t('vendorDetails')}</summary>
      <span>{message}</span>
      {code === '' ? null : (
        <>
          {' '}
          {t('vendorCode')} <Code>{code}</Code>
        </>
      )}
    </Text>
  );
}
