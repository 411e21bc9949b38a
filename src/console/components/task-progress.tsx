import { AspectRatio, Center, Group, Loader, Progress, Stack, Text } from '@mantine/core';
import { IconMoodSad } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { COARSE_PROGRESS, isTerminal } from '../../contract/task-states.ts';
import { estimateGenerationTimeLeft } from '../../sdk/account.ts';
import { formatElapsed, formatSeconds } from '../data/format-times-and-durations.ts';
import { durationsQuery, type Video } from '../data/video-queries.ts';

/** Shown in place of a video that is not finished: its stage and elapsed time, or that it failed. */
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
            <IconMoodSad size={28} />
            <Text size="sm">{t(`stage.${video.status}`)}</Text>
          </Stack>
        ) : (
          <UnfinishedTask video={video} />
        )}
      </Center>
    </AspectRatio>
  );
}

/** The vendor's own percent where it gives one, else the time against what the model usually takes. */
function UnfinishedTask({ video }: { readonly video: Video }) {
  const { t } = useTranslation('studio');
  const elapsed = useNow() / 1000 - video.submit_time;
  const durations = useQuery(durationsQuery);
  const measured = durations.data?.find(({ model }) => model === video.model);
  const estimate = measured === undefined ? undefined : estimateGenerationTimeLeft(elapsed, measured);
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
      <Progress
        w="100%"
        value={share === undefined ? 100 : share * 100}
        animated={share === undefined}
        striped={share === undefined}
        aria-label={stage}
      />
      <Text size="xs" c="dimmed" ta="center" style={{ fontVariantNumeric: 'tabular-nums' }}>
        {t('elapsed', { time: formatElapsed(elapsed) })}
        {estimate === undefined ? '' : ` · ${describeEstimate(estimate, t)}`}
      </Text>
      {measured === undefined ? null : (
        <Text size="xs" c="dimmed" ta="center">
          {t('typicalTime', { fast: formatSeconds(measured.p50_seconds), slow: formatSeconds(measured.p90_seconds) })}
        </Text>
      )}
    </Stack>
  );
}

function describeEstimate(
  estimate: ReturnType<typeof estimateGenerationTimeLeft>,
  t: ReturnType<typeof useTranslation<'studio'>>['t'],
): string {
  if (estimate.kind === 'left') return t('timeLeft', { time: formatSeconds(estimate.seconds) });
  return t(estimate.kind === 'almost' ? 'almostDone' : 'slowerThanUsual');
}

/** The percent of the vendor; undefined where the figure is only the step of the state. */
function vendorPercent({ progress, status }: Video): number | undefined {
  const percent = Number.parseInt(progress, 10) || 0;
  return percent === COARSE_PROGRESS[status] ? undefined : percent;
}

/** The present time, once a second. */
function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
