import { Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { listWaitingVideos } from '../../../../contract/admin-videos.ts';
import { Panel } from '../../../components/panel.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { RouteLink } from '../../../components/route-link.tsx';
import { dataQuery } from '../../../data/admin.ts';
import { formatNames } from '../../../data/format-text.ts';
import { useChannelNames } from '../../../data/names.ts';

const REFRESH_MS = 30_000;

/** Videos that wait for a slot, by model and channel; hidden while none waits. */
export function WaitingPanel() {
  const { t } = useTranslation('admin');
  const channels = useChannelNames();
  const waiting = useQuery({ ...dataQuery(listWaitingVideos, {}), refetchInterval: REFRESH_MS });
  if (waiting.data === undefined || waiting.data.length === 0) return null;
  return (
    <Panel title={t('overview.waiting.title')}>
      <Table verticalSpacing={6} horizontalSpacing={4} aria-label={t('overview.waiting.title')}>
        <Table.Tbody>
          {waiting.data.map(({ model, waits_for: reason, channel_ids: ids, count, oldest_time: oldest }) => (
            <Table.Tr key={`${model} ${reason} ${ids.join()}`}>
              <Table.Td>
                <Text size="sm">{model}</Text>
                <Text size="xs" c="dimmed">
                  {reason === 'channel'
                    ? formatNames(ids.map((id) => channels(id) ?? `#${id}`))
                    : t(`overview.waiting.${reason}`)}
                </Text>
              </Table.Td>
              <Table.Td ta="right">
                <RouteLink to="/admin/tasks" search={{ unfinished: true, model }} size="sm">
                  {t('overview.waiting.count', { count })}
                </RouteLink>
                <Text size="xs" c="dimmed">
                  {t('overview.waiting.oldest')} <RelativeTime at={oldest} />
                </Text>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Panel>
  );
}
