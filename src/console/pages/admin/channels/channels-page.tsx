import { Badge, Group, Switch, Text } from '@mantine/core';
import { IconPlugConnected, IconPlus } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { changeChannel, listChannels } from '../../../../contract/channels.ts';
import { listQuery, type RowOf, useRefresh } from '../../../data/admin.ts';
import { call } from '../../../data/client.ts';
import { Empty } from '../../../parts/empty.tsx';
import { toMessage } from '../../../parts/failure.tsx';
import { useNotices } from '../../../parts/notices.tsx';
import { Page } from '../../../parts/page.tsx';
import { ChoiceFilter, FilterBar, TextFilter } from '../frame/filter-bar.tsx';
import { useFilters } from '../frame/filters.ts';
import { RecordList } from '../frame/record-list.tsx';
import { ToButton, ToLink } from '../frame/to-link.tsx';
import { ChannelState } from './channel-state.tsx';
import { VENDOR_CHOICES, vendorTitle } from './vendors.ts';

type ChannelRow = RowOf<typeof listChannels>;

export function ChannelsPage() {
  const { t } = useTranslation(['upstreams', 'shell']);
  const filters = useFilters(['vendor', 'model', 'enabled']);
  const channels = useQuery({ ...listQuery(listChannels, filters.query), refetchInterval: 15_000 });
  const make = (
    <ToButton to="/admin/channels/new" leftSection={<IconPlus size={16} />}>
      {t('channels.make')}
    </ToButton>
  );
  const isEmpty = channels.data?.total === 0 && !filters.active;
  return (
    <Page title={t('shell:pages.channels')} lead={t('channels.lead')} size="xl" actions={isEmpty ? null : make}>
      {isEmpty ? null : (
        <FilterBar filters={filters}>
          <ChoiceFilter filters={filters} name="vendor" label={t('channels.vendor')} choices={VENDOR_CHOICES} />
          <TextFilter filters={filters} name="model" label={t('channels.servesModel')} />
          <ChoiceFilter
            filters={filters}
            name="enabled"
            label={t('channels.onOrOff')}
            choices={[
              { value: 'true', label: t('states.on') },
              { value: 'false', label: t('states.off') },
            ]}
          />
        </FilterBar>
      )}
      <RecordList
        label={t('shell:pages.channels')}
        query={channels}
        filters={filters}
        keyOf={({ id }) => id}
        empty={
          <Empty icon={<IconPlugConnected size={28} />} title={t('channels.emptyTitle')} action={make}>
            {t('channels.emptyText')}
          </Empty>
        }
        columns={[
          { label: t('channels.name'), cell: (channel) => <Name channel={channel} /> },
          { label: t('channels.state'), cell: (channel) => <ChannelState {...channel} /> },
          { label: t('channels.models'), cell: (channel) => <Models channel={channel} /> },
          {
            label: t('channels.order'),
            cell: ({ priority, weight }) => t('channels.orderValue', { priority, weight }),
            wide: true,
          },
          { label: t('channels.unfinished'), align: 'right', cell: ({ unfinished_tasks: count }) => count },
          { label: t('channels.enabled'), align: 'right', cell: (channel) => <Enabled channel={channel} /> },
        ]}
      />
    </Page>
  );
}

function Name({ channel }: { readonly channel: ChannelRow }) {
  return (
    <>
      <ToLink to={`/admin/channels/${channel.id}`} fw={600} size="sm" style={{ overflowWrap: 'anywhere' }}>
        {channel.name}
      </ToLink>
      <Text size="xs" c="dimmed">
        {vendorTitle(channel.vendor)}
      </Text>
    </>
  );
}

function Models({ channel }: { readonly channel: ChannelRow }) {
  const { t } = useTranslation('upstreams');
  return (
    <Group gap={6} title={channel.models.join(', ')}>
      <Text size="sm">{t('channels.modelCount', { count: channel.models.length })}</Text>
      {channel.unserved_models.length === 0 ? null : (
        <Badge color="yellow" title={channel.unserved_models.join(', ')}>
          {t('channels.unservedCount', { count: channel.unserved_models.length })}
        </Badge>
      )}
    </Group>
  );
}

/** On and off from the list: in an incident there is no time for forms. */
function Enabled({ channel }: { readonly channel: ChannelRow }) {
  const { t } = useTranslation(['upstreams', 'shell']);
  const refresh = useRefresh();
  const notices = useNotices();
  const change = useMutation({
    mutationFn: (enabled: boolean) => call(changeChannel, { params: { id: String(channel.id) }, body: { enabled } }),
    onSuccess: refresh,
    onError: (error) => notices.failed(toMessage(error, t('shell:unreachable'))),
  });
  return (
    <Switch
      aria-label={t('channels.enabledOf', { name: channel.name })}
      checked={change.isPending ? change.variables : channel.enabled}
      onChange={(event) => change.mutate(event.currentTarget.checked)}
      display="inline-block"
    />
  );
}
