import { Badge, Text } from '@mantine/core';
import { IconScale } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { exceedsTolerance, listReconciliations } from '../../../../contract/reconciliation.ts';
import { EmptyState } from '../../../components/empty-state.tsx';
import { PagedTable } from '../../../components/list/paged-table.tsx';
import type { ListFilters } from '../../../components/list/use-list-filters.ts';
import { useFormatCredits } from '../../../components/use-format-credits.ts';
import { formatDateTime } from '../../../data/format-times-and-durations.ts';
import { type ListItem, listQuery } from '../../../data/query-any-admin-endpoint.ts';
import { useFormatVendorUnits } from './use-format-vendor-units.ts';

type Reading = ListItem<typeof listReconciliations>;

/** Every reading of an account, or the days of each channel: what was settled beside what the vendor took. */
export function SettledAndBilledTable({ filters }: { readonly filters: ListFilters }) {
  const { t } = useTranslation('reconciliation');
  const readings = useQuery(listQuery(listReconciliations, filters.query));
  const units = useFormatVendorUnits();
  const credits = useFormatCredits();
  return (
    <PagedTable
      label={t('readings')}
      query={readings}
      filters={filters}
      rowKey={({ id }) => id}
      emptyState={
        <EmptyState icon={<IconScale size={28} />} title={t('emptyTitle')}>
          {t('emptyText')}
        </EmptyState>
      }
      columns={[
        { label: t('time'), cell: (reading) => <Period reading={reading} /> },
        { label: t('channel'), cell: ({ channel_name: name, channel_id: id }) => name || `#${id}` },
        { label: t('videos'), align: 'right', cell: ({ videos }) => videos },
        { label: t('settled'), align: 'right', cell: ({ settled_units: settled, unit }) => units(settled, unit) },
        {
          label: t('billed'),
          align: 'right',
          cell: ({ billed_units: billed, unit }) => (billed === null ? '–' : units(billed, unit)),
        },
        { label: t('difference'), align: 'right', cell: (reading) => <Difference reading={reading} /> },
        { label: t('charged'), align: 'right', cell: ({ settled_quota: quota }) => credits(quota), hideOnPhone: true },
      ]}
    />
  );
}

function Period({ reading: { from, to } }: { readonly reading: Reading }) {
  return (
    <Text size="sm" style={{ whiteSpace: 'nowrap' }}>
      {from === null ? '' : `${formatDateTime(from)} – `}
      {formatDateTime(to)}
    </Text>
  );
}

function Difference({ reading }: { readonly reading: Reading }) {
  const { t } = useTranslation('reconciliation');
  const units = useFormatVendorUnits();
  const { from, billed_units: billed, settled_units: settled, difference, unit } = reading;
  if (billed === null || difference === null)
    return <Badge color="gray">{from === null ? t('first') : t('toppedUp')}</Badge>;
  return (
    <Badge
      color={exceedsTolerance(billed, settled) ? 'yellow' : 'gray'}
      variant={difference === 0 ? 'transparent' : 'light'}
    >
      {units(difference, unit)}
    </Badge>
  );
}
