import { Group, Progress, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { storageQuery } from '../data/video-storage-query.ts';

const GB = 1024 ** 3;
const MB = 1024 ** 2;

/** How much of its space the account's stored videos take. Shows nothing where videos are not stored. */
export function VideoStorageUsage() {
  const { t, i18n } = useTranslation('studio');
  const { data } = useQuery(storageQuery);
  if (data?.enabled !== true) return null;
  const size = (bytes: number): string => {
    const [amount, unit] = bytes >= GB ? [bytes / GB, 'GiB'] : [bytes / MB, 'MiB'];
    return `${amount.toLocaleString(i18n.language, { maximumFractionDigits: 1 })} ${unit}`;
  };
  const text = t('storageUsed', { used: size(data.used_bytes), limit: size(data.limit_bytes) });
  return (
    <Group gap="sm">
      <Progress value={(100 * data.used_bytes) / data.limit_bytes} w={120} aria-label={text} />
      <Text size="sm" c="dimmed">
        {text} {data.days === 0 ? null : t('storageDays', { count: data.days })}
      </Text>
    </Group>
  );
}
