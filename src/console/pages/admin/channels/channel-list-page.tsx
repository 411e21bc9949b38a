import { Badge, Group, Switch, Text } from '@mantine/core';
import { IconPlugConnected, IconPlus } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { CHANNEL_SORTS, changeChannel, listChannels, testChannel } from '../../../../contract/channels.ts';
import { ReelgateError } from '../../../../sdk/errors.ts';
import { isListEmpty, PagedTable, type RowSelection, useRowSelection } from '../../../components/data-table.tsx';
import { toErrorMessage } from '../../../components/error-alert.tsx';
import { BulkBar } from '../../../components/list/bulk-bar.tsx';
import { ChoiceFilter, FilterBar, TextFilter } from '../../../components/list/filter-bar.tsx';
import { useListFilters } from '../../../components/list/use-list-filters.ts';
import { EmptyState, Page } from '../../../components/page.tsx';
import { RouteButton, RouteLink } from '../../../components/route-link.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import {
  type ListItem,
  listQuery,
  toVendorOptions,
  useInvalidateQueries,
  useVendors,
  vendorTitle,
} from '../../../data/admin.ts';
import { callApi } from '../../../data/api-client.ts';
import { formatNames } from '../../../data/format-values.ts';
import { ChannelStatusBadge } from './channel-status.tsx';

type ChannelListItem = ListItem<typeof listChannels>;

/** All channels with their health. */
export function ChannelListPage() {
  const { t } = useTranslation(['admin-channels', 'app']);
  const vendors = useVendors();
  const filters = useListFilters(['vendor', 'model', 'enabled'], CHANNEL_SORTS);
  const selection = useRowSelection<ChannelListItem>(({ id }) => id);
  const channels = useQuery({ ...listQuery(listChannels, filters.query), refetchInterval: 15_000 });
  const make = (
    <RouteButton data-create to="/admin/channels/new" leftSection={<IconPlus size={16} />}>
      {t('channels.make')}
    </RouteButton>
  );
  const isEmpty = isListEmpty(channels, filters);
  return (
    <Page title={t('app:pages.channels')} subtitle={t('channels.lead')} actions={isEmpty ? undefined : make}>
      {isEmpty ? null : (
        <FilterBar filters={filters}>
          <ChoiceFilter
            filters={filters}
            name="vendor"
            label={t('channels.vendor')}
            choices={toVendorOptions(vendors)}
          />
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
      <PagedTable
        label={t('app:pages.channels')}
        query={channels}
        filters={filters}
        rowKey={({ id }) => id}
        selection={selection}
        emptyState={
          <EmptyState icon={<IconPlugConnected size={28} />} title={t('channels.emptyTitle')} action={make}>
            {t('channels.emptyText')}
          </EmptyState>
        }
        columns={[
          { label: t('channels.name'), sortKey: 'name', cell: (channel) => <ChannelName channel={channel} /> },
          { label: t('channels.state'), cell: (channel) => <ChannelStatusBadge {...channel} /> },
          { label: t('channels.models'), cell: (channel) => <ChannelModels channel={channel} /> },
          {
            label: t('channels.order'),
            sortKey: 'priority',
            cell: ({ priority, weight }) => t('channels.orderValue', { priority, weight }),
            hideOnPhone: true,
          },
          { label: t('channels.unfinished'), align: 'right', cell: ({ unfinished_tasks: count }) => count },
          {
            label: t('channels.enabled'),
            sortKey: 'enabled',
            align: 'right',
            cell: (channel) => <EnabledSwitch channel={channel} />,
          },
        ]}
      />
      <ChannelBulkBar selection={selection} />
    </Page>
  );
}

/** Bulk actions for the selected channels. */
function ChannelBulkBar({ selection }: { readonly selection: RowSelection<ChannelListItem> }) {
  const { t } = useTranslation('admin-channels');
  const invalidate = useInvalidateQueries();
  const setEnabled = (enabled: boolean) => (channel: ChannelListItem) =>
    callApi(changeChannel, { params: { id: String(channel.id) }, body: { enabled } });
  return (
    <BulkBar
      selection={selection}
      nameOf={({ name }) => name}
      onDone={invalidate}
      actions={[
        { id: 'test', label: t('channels.testMany'), text: t('channels.testManyText'), run: test },
        {
          id: 'enable',
          label: t('channels.enableMany'),
          text: t('channels.enableManyText'),
          appliesTo: ({ enabled }) => !enabled,
          run: setEnabled(true),
        },
        {
          id: 'disable',
          label: t('channels.disableMany'),
          text: t('channels.disableManyText'),
          appliesTo: ({ enabled }) => enabled,
          run: setEnabled(false),
          isDangerous: true,
        },
      ]}
    />
  );
}

/** Tests a channel. @throws ReelgateError with the vendor's message if the test fails */
async function test({ id }: ChannelListItem): Promise<void> {
  const { data } = await callApi(testChannel, { params: { id: String(id) }, query: {} });
  if (!data.ok) throw new ReelgateError(data.message || data.reason, { code: data.code || data.reason });
}

function ChannelName({ channel }: { readonly channel: ChannelListItem }) {
  return (
    <>
      <RouteLink
        to="/admin/channels/$id"
        params={{ id: String(channel.id) }}
        fw={600}
        size="sm"
        style={{ overflowWrap: 'anywhere' }}
      >
        {channel.name}
      </RouteLink>
      <Text size="xs" c="dimmed">
        {vendorTitle(useVendors(), channel.vendor)}
      </Text>
    </>
  );
}

function ChannelModels({ channel }: { readonly channel: ChannelListItem }) {
  const { t } = useTranslation('admin-channels');
  return (
    <Group gap={6} title={formatNames(channel.models)}>
      <Text size="sm">{t('channels.modelCount', { count: channel.models.length })}</Text>
      {channel.unserved_models.length === 0 ? null : (
        <Badge color="yellow" title={formatNames(channel.unserved_models)}>
          {t('channels.unservedCount', { count: channel.unserved_models.length })}
        </Badge>
      )}
    </Group>
  );
}

/** Enables or disables a channel from the list: during an incident, opening a form takes too long. */
function EnabledSwitch({ channel }: { readonly channel: ChannelListItem }) {
  const { t } = useTranslation(['admin-channels', 'app']);
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const change = useMutation({
    mutationFn: (enabled: boolean) => callApi(changeChannel, { params: { id: String(channel.id) }, body: { enabled } }),
    onSuccess: invalidate,
    onError: (error) => toasts.error(toErrorMessage(error, t('app:unreachable'))),
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
