import { Badge, Group, Switch, Text } from '@mantine/core';
import { IconPlus, IconTags } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { MODEL_KINDS } from '../../../../contract/model-kinds.ts';
import { adminUpdateModel, listModelRows, MODEL_SORTS } from '../../../../contract/models.ts';
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
  toModelUrlSegment,
  toVendorOptions,
  useInvalidateQueries,
  useVendors,
  vendorTitle,
} from '../../../data/admin.ts';
import { callApi } from '../../../data/api-client.ts';
import { useModelTitle } from '../../../data/self.ts';
import { ModelPrice } from './model-price.tsx';

type ModelListItem = ListItem<typeof listModelRows>;

/** The model catalogue. */
export function ModelListPage() {
  const { t } = useTranslation(['admin-channels', 'app']);
  const vendors = useVendors();
  const filters = useListFilters(['q', 'vendor', 'kind'], MODEL_SORTS);
  const selection = useRowSelection<ModelListItem>(({ id }) => id);
  const models = useQuery(listQuery(listModelRows, filters.query));
  const make = (
    <RouteButton data-create to="/admin/models/new" leftSection={<IconPlus size={16} />}>
      {t('models.make')}
    </RouteButton>
  );
  return (
    <Page
      title={t('app:pages.models')}
      subtitle={t('models.lead')}
      actions={isListEmpty(models, filters) ? undefined : make}
    >
      <FilterBar filters={filters}>
        <TextFilter filters={filters} name="q" label={t('models.search')} />
        <ChoiceFilter filters={filters} name="vendor" label={t('channels.vendor')} choices={toVendorOptions(vendors)} />
        <ChoiceFilter
          filters={filters}
          name="kind"
          label={t('models.kind')}
          choices={MODEL_KINDS.map((value) => ({ value, label: t(`kinds.${value}`) }))}
        />
      </FilterBar>
      <PagedTable
        label={t('app:pages.models')}
        query={models}
        filters={filters}
        rowKey={({ id }) => id}
        selection={selection}
        emptyState={
          <EmptyState icon={<IconTags size={28} />} title={t('models.emptyTitle')} action={make}>
            {t('models.emptyText')}
          </EmptyState>
        }
        columns={[
          { label: t('models.name'), sortKey: 'name', cell: (model) => <ModelName model={model} /> },
          { label: t('models.kind'), sortKey: 'kind', cell: ({ kind }) => t(`kinds.${kind}` as 'kinds.video') },
          {
            label: t('channels.vendor'),
            sortKey: 'vendor',
            cell: ({ vendor }) => vendorTitle(vendors, vendor),
            hideOnPhone: true,
          },
          { label: t('price.title'), cell: (model) => <ModelPrice price={model.price} /> },
          { label: t('models.channels'), cell: (model) => <ChannelCount model={model} /> },
          {
            label: t('models.enabled'),
            sortKey: 'enabled',
            align: 'right',
            cell: (model) => <EnabledSwitch model={model} />,
          },
        ]}
      />
      <ModelBulkBar selection={selection} />
    </Page>
  );
}

/** Bulk actions for the selected models. */
function ModelBulkBar({ selection }: { readonly selection: RowSelection<ModelListItem> }) {
  const { t } = useTranslation('admin-channels');
  const invalidate = useInvalidateQueries();
  const setEnabled = (enabled: boolean) => (model: ModelListItem) =>
    callApi(adminUpdateModel, { params: { id: toModelUrlSegment(model.id) }, body: { enabled } });
  return (
    <BulkBar
      selection={selection}
      nameOf={({ id }) => id}
      onDone={invalidate}
      actions={[
        {
          id: 'enable',
          label: t('models.enableMany'),
          text: t('models.enableManyText'),
          appliesTo: ({ enabled }) => !enabled,
          run: setEnabled(true),
        },
        {
          id: 'disable',
          label: t('models.disableMany'),
          text: t('models.disableManyText'),
          appliesTo: ({ enabled }) => enabled,
          run: setEnabled(false),
          isDangerous: true,
        },
      ]}
    />
  );
}

function ModelName({ model }: { readonly model: ModelListItem }) {
  const { t } = useTranslation('admin-channels');
  const title = useModelTitle()(model.id);
  return (
    <>
      <RouteLink
        to="/admin/models/$id"
        params={{ id: toModelUrlSegment(model.id) }}
        fw={600}
        size="sm"
        style={{ overflowWrap: 'anywhere' }}
      >
        {model.id}
      </RouteLink>
      {model.alias_of !== null || title !== model.id ? (
        <Text size="xs" c="dimmed">
          {model.alias_of === null ? title : t('models.aliasOf', { name: model.alias_of })}
        </Text>
      ) : null}
    </>
  );
}

function ChannelCount({ model }: { readonly model: ModelListItem }) {
  const { t } = useTranslation('admin-channels');
  return model.channels === 0 ? (
    <Group gap={6}>
      <Badge color="yellow">{t('models.noChannel')}</Badge>
    </Group>
  ) : (
    <RouteLink to="/admin/channels" search={{ model: model.id }} size="sm">
      {t('models.channelCount', { count: model.channels })}
    </RouteLink>
  );
}

function EnabledSwitch({ model }: { readonly model: ModelListItem }) {
  const { t } = useTranslation(['admin-channels', 'app']);
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const change = useMutation({
    mutationFn: (enabled: boolean) =>
      callApi(adminUpdateModel, { params: { id: toModelUrlSegment(model.id) }, body: { enabled } }),
    onSuccess: invalidate,
    onError: (error) => toasts.error(toErrorMessage(error, t('app:unreachable'))),
  });
  return (
    <Switch
      aria-label={t('models.enabledOf', { name: model.id })}
      checked={change.isPending ? change.variables : model.enabled}
      onChange={(event) => change.mutate(event.currentTarget.checked)}
      display="inline-block"
    />
  );
}
