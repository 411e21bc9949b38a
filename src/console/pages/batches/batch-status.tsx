import { Badge, Box, Progress, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Batch } from '../../data/batches.ts';

const COLORS = {
  validating: 'gray',
  failed: 'red',
  in_progress: 'blue',
  finalizing: 'blue',
  completed: 'teal',
  expired: 'orange',
  cancelling: 'gray',
  cancelled: 'gray',
  paused: 'yellow',
} as const;

/** The state of a batch as its owner sees it. */
const stateOf = ({ status, paused_at }: Batch) =>
  paused_at !== null && (status === 'in_progress' || status === 'validating') ? 'paused' : status;

/** Badge with the state of a batch. */
export function BatchStatus({ batch }: { readonly batch: Batch }) {
  const { t } = useTranslation('batches');
  const state = stateOf(batch);
  return (
    <Badge color={COLORS[state]} style={{ flexShrink: 0 }}>
      {t(`statuses.${state}`)}
    </Badge>
  );
}

/** Bar and counts of the ended lines. */
export function BatchProgress({ batch }: { readonly batch: Batch }) {
  const { t } = useTranslation('batches');
  const { total, completed, failed } = batch.request_counts;
  const share = (count: number): number => (total === 0 ? 0 : (100 * count) / total);
  const label = t('counts', { total, completed, failed });
  return (
    <Box miw={160}>
      <Progress.Root size="sm" aria-label={label}>
        <Progress.Section value={share(completed)} color="teal" aria-label={label} />
        <Progress.Section value={share(failed)} color="red" aria-label={label} />
      </Progress.Root>
      <Text size="xs" c="dimmed" mt={4}>
        {label}
      </Text>
    </Box>
  );
}
