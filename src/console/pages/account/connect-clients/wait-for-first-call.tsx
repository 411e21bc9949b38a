import { Alert, Button, Group, Loader, Text } from '@mantine/core';
import { IconCheck, IconPlugConnected } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type ApiKey, apiKeysQuery } from '../../../data/api-key-queries.ts';
import { formatRelativeTime } from '../../../data/format-times-and-durations.ts';

const POLL_MS = 2_000;
const PATIENCE_MS = 180_000;

interface Wait {
  readonly startedAt: number;
  /** Last use known when the wait began. */
  readonly usedBefore: number | null;
}

/** Waits until a call with this key has come, and says so. The service notes the use of a key within ten seconds. */
export function WaitForFirstCall({ tokenId, page }: { readonly tokenId: number; readonly page: number }) {
  const { t } = useTranslation('connect-clients');
  const [wait, setWait] = useState<Wait>();
  const keys = useQuery({
    ...apiKeysQuery(page),
    refetchInterval: ({ state }) =>
      wait === undefined || isOver(wait, lastUse(state.data?.data, tokenId)) ? false : POLL_MS,
  });
  const usedAt = lastUse(keys.data?.data, tokenId);
  const start = (): void => setWait({ startedAt: Date.now(), usedBefore: usedAt });
  if (wait === undefined)
    return (
      <Group>
        <Button variant="default" leftSection={<IconPlugConnected size={16} />} onClick={start}>
          {t('test')}
        </Button>
      </Group>
    );
  if (usedAt !== null && hasCome(wait, usedAt))
    return (
      <Alert color="teal" icon={<IconCheck />} role="status">
        {t('came', { when: formatRelativeTime(usedAt) })}
      </Alert>
    );
  if (keys.dataUpdatedAt - wait.startedAt >= PATIENCE_MS - POLL_MS)
    return (
      <Alert color="yellow" role="status">
        <Text size="sm">{t('noCall')}</Text>
        <Button mt="xs" size="compact-sm" variant="default" onClick={start}>
          {t('test')}
        </Button>
      </Alert>
    );
  return (
    <Group gap="sm" role="status" wrap="nowrap">
      <Loader size="xs" />
      <Text size="sm" flex={1}>
        {t('waiting')}
      </Text>
      <Button size="compact-sm" variant="subtle" onClick={() => setWait(undefined)}>
        {t('stop')}
      </Button>
    </Group>
  );
}

const lastUse = (keys: readonly ApiKey[] | undefined, tokenId: number): number | null =>
  keys?.find(({ id }) => id === tokenId)?.last_used_time ?? null;

const isOver = (wait: Wait, usedAt: number | null): boolean =>
  hasCome(wait, usedAt) || Date.now() - wait.startedAt >= PATIENCE_MS;

const hasCome = ({ usedBefore }: Wait, usedAt: number | null): boolean => usedAt !== null && usedAt !== usedBefore;
