import { Badge, Group, Switch, Text } from '@mantine/core';
import { IconPlus, IconTags } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { changeModel, listModelRows } from '../../../../contract/model-catalog.ts';
import { MODEL_KINDS } from '../../../../contract/models.ts';
import { listQuery, type RowOf, useRefresh } from '../../../data/admin.ts';
import { call } from '../../../data/client.ts';
import { Empty } from '../../../parts/empty.tsx';
import { toMessage } from '../../../parts/failure.tsx';
import { useNotices } from '../../../parts/notices.tsx';
import { Page } from '../../../parts/page.tsx';
import { useQuota } from '../../../parts/quota.tsx';
import { VENDOR_CHOICES, vendorTitle } from '../channels/vendors.ts';
import { ChoiceFilter, FilterBar, TextFilter } from '../frame/filter-bar.tsx';
import { useFilters } from '../frame/filters.ts';
import { RecordList } from '../frame/record-list.tsx';
import { ToButton, ToLink } from '../frame/to-link.tsx';
import { toModelPath } from './model-path.ts';
import type { AnyPrice } from './price-draft.ts';

type ModelRow = RowOf<typeof listModelRows>;

export function ModelsPage() {
  const { t } = useTranslation(['upstreams', 'shell']);
  const filters = useFilters(['q', 'vendor', 'kind']);
  const models = useQuery(listQuery(listModelRows, filters.query));
  const make = (
    <ToButton to="/admin/models/new" leftSection={<IconPlus size={16} />}>
      {t('models.make')}
    </ToButton>
  );
  return (
    <Page title={t('shell:pages.models')} lead={t('models.lead')} size="xl" actions={make}>
      <FilterBar filters={filters}>
        <TextFilter filters={filters} name="q" label={t('models.search')} />
        <ChoiceFilter filters={filters} name="vendor" label={t('channels.vendor')} choices={VENDOR_CHOICES} />
        <ChoiceFilter
          filters={filters}
          name="kind"
          label={t('models.kind')}
          choices={MODEL_KINDS.map((value) => ({ value, label: t(`kinds.${value}`) }))}
        />
      </FilterBar>
      <RecordList
        label={t('shell:pages.models')}
        query={models}
        filters={filters}
        keyOf={({ id }) => id}
        empty={
          <Empty icon={<IconTags size={28} />} title={t('models.emptyTitle')} action={make}>
            {t('models.emptyText')}
          </Empty>
        }
        columns={[
          { label: t('models.name'), cell: (model) => <Name model={model} /> },
          { label: t('models.kind'), cell: ({ kind }) => t(`kinds.${kind}` as 'kinds.video') },
          { label: t('channels.vendor'), cell: ({ vendor }) => vendorTitle(vendor), wide: true },
          { label: t('price.title'), cell: (model) => <Price model={model} /> },
          { label: t('models.channels'), cell: (model) => <Channels model={model} /> },
          { label: t('models.enabled'), align: 'right', cell: (model) => <Enabled model={model} /> },
        ]}
      />
    </Page>
  );
}

function Name({ model }: { readonly model: ModelRow }) {
  const { t } = useTranslation('upstreams');
  return (
    <>
      <ToLink
        to={`/admin/models/${encodeURIComponent(toModelPath(model.id))}`}
        fw={600}
        size="sm"
        style={{ overflowWrap: 'anywhere' }}
      >
        {model.id}
      </ToLink>
      {model.alias_of === null ? null : (
        <Text size="xs" c="dimmed">
          {t('models.aliasOf', { name: model.alias_of })}
        </Text>
      )}
    </>
  );
}

function Price({ model }: { readonly model: ModelRow }) {
  const { t } = useTranslation('upstreams');
  const quota = useQuota();
  const price = model.price as AnyPrice | null;
  if (price === null) return <Text size="sm">{t('price.asTarget')}</Text>;
  const parts = [
    ...((price.per_second ?? 0) > 0 ? [t('price.aSecond', { price: quota(price.per_second ?? 0) })] : []),
    ...((price.per_call ?? 0) > 0 ? [t('price.aCall', { price: quota(price.per_call ?? 0) })] : []),
    ...((price.input_per_million ?? 0) > 0 ? [t('price.in', { price: quota(price.input_per_million ?? 0) })] : []),
    ...((price.output_per_million ?? 0) > 0 ? [t('price.out', { price: quota(price.output_per_million ?? 0) })] : []),
  ];
  const factors = Object.entries(price.multipliers ?? {}).flatMap(([factor, values]) =>
    Object.entries(values).map(([value, by]) => `${factor} ${value} × ${by}`),
  );
  return (
    <>
      <Text size="sm">{parts.length === 0 ? t('price.free') : parts.join(' + ')}</Text>
      {factors.length === 0 ? null : (
        <Text size="xs" c="dimmed" lineClamp={1} title={factors.join(', ')}>
          {factors.join(', ')}
        </Text>
      )}
    </>
  );
}

function Channels({ model }: { readonly model: ModelRow }) {
  const { t } = useTranslation('upstreams');
  return model.channels === 0 ? (
    <Group gap={6}>
      <Badge color="yellow">{t('models.noChannel')}</Badge>
    </Group>
  ) : (
    <ToLink to="/admin/channels" search={{ model: model.id }} size="sm">
      {t('models.channelCount', { count: model.channels })}
    </ToLink>
  );
}

function Enabled({ model }: { readonly model: ModelRow }) {
  const { t } = useTranslation(['upstreams', 'shell']);
  const refresh = useRefresh();
  const notices = useNotices();
  const change = useMutation({
    mutationFn: (enabled: boolean) => call(changeModel, { params: { id: toModelPath(model.id) }, body: { enabled } }),
    onSuccess: refresh,
    onError: (error) => notices.failed(toMessage(error, t('shell:unreachable'))),
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
