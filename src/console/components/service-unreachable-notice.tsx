import { Group, Loader, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ReelgateError } from '../../sdk/errors.ts';
import { fetchStatus } from '../data/api-client.ts';

const RETRY_MS = 2_000;

/**
 * A line while the service cannot be reached: the page stays as it is, with what has been typed, and everything that failed
 * meanwhile is fetched again once the service responds.
 */
export function ServiceUnreachableNotice() {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const [isLost, setLost] = useState(false);
  useEffect(
    () =>
      queries.getQueryCache().subscribe((event) => {
        if (event.type === 'updated' && event.action.type === 'error' && isUnreachable(event.action.error))
          setLost(true);
      }),
    [queries],
  );
  useEffect(() => {
    if (!isLost) return;
    const probe = async (): Promise<void> => {
      await fetchStatus();
      setLost(false);
      await queries.invalidateQueries({ predicate: ({ state }) => state.status === 'error' });
    };
    const timer = setInterval(() => void probe().catch(() => undefined), RETRY_MS);
    return () => clearInterval(timer);
  }, [isLost, queries]);
  if (!isLost) return null;
  return (
    <div className="connection-lost" role="status">
      <Group gap="xs" wrap="nowrap">
        <Loader size="xs" color="gray" />
        <Text size="sm" fw={600}>
          {t('reconnecting')}
        </Text>
      </Group>
    </div>
  );
}

/** The network failed, or the proxy in front of the service has no service behind it. */
const isUnreachable = (error: unknown): boolean =>
  error instanceof ReelgateError &&
  (error.code === 'network' || ['http_502', 'http_503', 'http_504'].includes(error.code));
