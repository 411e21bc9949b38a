import { Group, Progress, Text } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { getStorage } from '../../../contract/own-videos.ts';
import { callApi } from '../../data/api-client.ts';
import { formatDecimal } from '../../data/format-values.ts';

const UNITS = [
  [1024 ** 3, 'GiB'],
  [1024 ** 2, 'MiB'],
  [1024, 'KiB'],
] as const;

/** `1.4 MiB` */
export function formatBytes(bytes: number): string {
  const [size, unit] = UNITS.find(([least]) => bytes >= least) ?? [1, 'B'];
  return `${formatDecimal(bytes / size, 1)} ${unit}`;
}

/** Space used by the account's stored videos and files. Renders nothing if nothing is stored. */
export function StorageUsage() {
  const { t } = useTranslation('library');
  const { data } = useQuery(storageQuery);
  if (data?.enabled !== true) return null;
  const text = t('storageUsed', { used: formatBytes(data.used_bytes), limit: formatBytes(data.limit_bytes) });
  return (
    <Group gap="sm" mt="lg">
      <Progress value={(100 * data.used_bytes) / data.limit_bytes} w={120} aria-label={text} />
      <Text size="sm" c="dimmed">
        {text} {data.days === 0 ? null : t('storageDays', { count: data.days })}
      </Text>
    </Group>
  );
}

/** Space used by stored copies of the account's videos, and by its files. */
export const storageQuery = queryOptions({
  queryKey: ['videos', 'storage'],
  queryFn: async ({ signal }) => (await callApi(getStorage, {}, { signal })).data,
});
