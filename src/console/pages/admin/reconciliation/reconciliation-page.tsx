import { Badge, Button, Stack, Text } from '@mantine/core';
import { IconScale } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import {
  exceedsTolerance,
  listReconciledAccounts,
  listReconciliations,
  reconcileChannel,
} from '../../../../contract/admin-videos.ts';
import { useFormatCredits } from '../../../components/credit-amount.tsx';
import { DataTable, PagedTable } from '../../../components/data-table.tsx';
import { QueryError, toErrorMessage } from '../../../components/error-alert.tsx';
import { ChannelFilter, ChoiceFilter, FilterBar } from '../../../components/list/filter-bar.tsx';
import { type ListFilters, useListFilters } from '../../../components/list/use-list-filters.ts';
import { EmptyState, Page } from '../../../components/page.tsx';
import { Panel } from '../../../components/panel.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { RouteLink } from '../../../components/route-link.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import {
  dataQuery,
  type ListItem,
  listQuery,
  type ResponseData,
  useInvalidateQueries,
  useVendors,
  vendorTitle,
} from '../../../data/admin.ts';
import { callApi } from '../../../data/api-client.ts';
import { formatDateTime, formatDecimal, formatLabelled } from '../../../data/format-values.ts';

/** Compares settled amounts with the vendors' bills, by channel. */
export function ReconciliationPage() {
  const { t } = useTranslation(['costs', 'app']);
  const filters = useListFilters(['channel_id', 'by']);
  const accounts = useQuery({ ...dataQuery(listReconciledAccounts, {}), refetchInterval: 60_000 });
  return (
    <Page title={t('app:pages.reconciliation')} subtitle={t('reconciliation.lead')}>
      <Stack gap="lg">
        <Panel title={t('reconciliation.accounts')}>
          <QueryError query={accounts} />
          {accounts.data?.length === 0 ? (
            <EmptyState icon={<IconScale size={28} />} title={t('reconciliation.noAccountsTitle')}>
              {t('reconciliation.noAccountsText')}
            </EmptyState>
          ) : (
            <VendorAccountTable accounts={accounts.data} />
          )}
        </Panel>
        <Panel title={t('reconciliation.readings')}>
          <FilterBar filters={filters}>
            <ChannelFilter filters={filters} />
            <ChoiceFilter
              filters={filters}
              name="by"
              label={t('reconciliation.by')}
              choices={[
                { value: 'reading', label: t('reconciliation.byReading') },
                { value: 'day', label: t('reconciliation.byDay') },
              ]}
            />
          </FilterBar>
          <SettledAndBilledTable filters={filters} />
        </Panel>
      </Stack>
    </Page>
  );
}

type Reading = ListItem<typeof listReconciliations>;

/** Settled and billed amounts: one row per reading of a vendor account, or per day and channel. */
function SettledAndBilledTable({ filters }: { readonly filters: ListFilters }) {
  const { t } = useTranslation('costs');
  const readings = useQuery(listQuery(listReconciliations, filters.query));
  const units = useFormatVendorUnits();
  const credits = useFormatCredits();
  return (
    <PagedTable
      label={t('reconciliation.readings')}
      query={readings}
      filters={filters}
      rowKey={({ id }) => id}
      emptyState={
        <EmptyState icon={<IconScale size={28} />} title={t('reconciliation.emptyTitle')}>
          {t('reconciliation.emptyText')}
        </EmptyState>
      }
      columns={[
        { label: t('reconciliation.time'), cell: (reading) => <Period reading={reading} /> },
        { label: t('reconciliation.channel'), cell: ({ channel_name: name, channel_id: id }) => name || `#${id}` },
        { label: t('reconciliation.videos'), align: 'right', cell: ({ videos }) => videos },
        {
          label: t('reconciliation.settled'),
          align: 'right',
          cell: ({ settled_units: settled, unit }) => units(settled, unit),
        },
        {
          label: t('reconciliation.billed'),
          align: 'right',
          cell: ({ billed_units: billed, unit }) => (billed === null ? '–' : units(billed, unit)),
        },
        { label: t('reconciliation.difference'), align: 'right', cell: (reading) => <Difference reading={reading} /> },
        {
          label: t('reconciliation.charged'),
          align: 'right',
          cell: ({ settled_quota: quota }) => credits(quota),
          hideOnPhone: true,
        },
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
  const { t } = useTranslation('costs');
  const units = useFormatVendorUnits();
  const { from, billed_units: billed, settled_units: settled, difference, unit } = reading;
  if (billed === null || difference === null)
    return <Badge color="gray">{from === null ? t('reconciliation.first') : t('reconciliation.toppedUp')}</Badge>;
  return (
    <Badge
      color={exceedsTolerance(billed, settled) ? 'yellow' : 'gray'}
      variant={difference === 0 ? 'transparent' : 'light'}
    >
      {units(difference, unit)}
    </Badge>
  );
}

type Account = ResponseData<typeof listReconciledAccounts>[number];

/** Accounts whose vendor reports its charges: the last reading, and whether a day's figures agree. */
function VendorAccountTable({ accounts }: { readonly accounts: readonly Account[] | undefined }) {
  const { t } = useTranslation('costs');
  const units = useFormatVendorUnits();
  return (
    <DataTable
      label={t('reconciliation.accounts')}
      rows={accounts}
      rowKey={({ channel_id: id }) => id}
      columns={[
        { label: t('reconciliation.channel'), cell: (account) => <ChannelLink account={account} /> },
        { label: t('reconciliation.lastRead'), cell: (account) => <LastRead account={account} /> },
        {
          label: t('reconciliation.settled'),
          align: 'right',
          cell: ({ judged, unit }) => (judged === null ? '–' : units(judged.settled_units, unit)),
        },
        {
          label: t('reconciliation.billed'),
          align: 'right',
          cell: ({ judged, unit }) => (judged === null ? '–' : units(judged.billed_units, unit)),
        },
        { label: t('reconciliation.result'), cell: (account) => <Result account={account} /> },
        {
          label: t('reconciliation.readNow'),
          hideLabel: true,
          align: 'right',
          cell: (account) => <ReadNow account={account} />,
        },
      ]}
    />
  );
}

function ChannelLink({ account }: { readonly account: Account }) {
  const vendors = useVendors();
  return (
    <>
      <RouteLink to="/admin/channels/$id" params={{ id: String(account.channel_id) }} fw={600} size="sm">
        {account.channel_name}
      </RouteLink>
      <Text size="xs" c="dimmed">
        {vendorTitle(vendors, account.vendor)}
      </Text>
    </>
  );
}

function LastRead({ account: { read_at: readAt, error } }: { readonly account: Account }) {
  const { t } = useTranslation('costs');
  return (
    <Stack gap={2}>
      <RelativeTime at={readAt} never={t('reconciliation.never')} size="sm" />
      {error === '' ? null : (
        <Text size="xs" c="red" style={{ overflowWrap: 'anywhere' }}>
          {formatLabelled(t('reconciliation.failed'), error)}
        </Text>
      )}
    </Stack>
  );
}

function Result({ account: { judged, unit, skew_seconds: skew } }: { readonly account: Account }) {
  const { t } = useTranslation('costs');
  const units = useFormatVendorUnits();
  if (judged === null) return <Badge color="gray">{t('reconciliation.tooFew')}</Badge>;
  const { unexplained_units: unexplained } = judged;
  return (
    <Badge
      color={unexplained === 0 ? 'teal' : 'red'}
      title={skew === 0 ? undefined : t('reconciliation.skew', { count: Math.round(skew / 3_600) })}
    >
      {unexplained === 0
        ? t('reconciliation.agrees')
        : t('reconciliation.unexplained', { units: units(unexplained, unit) })}
    </Badge>
  );
}

function ReadNow({ account: { channel_id: id, channel_name: name } }: { readonly account: Account }) {
  const { t } = useTranslation(['costs', 'app']);
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const read = useMutation({
    mutationFn: () => callApi(reconcileChannel, { params: { id: String(id) } }),
    onSuccess: () => toasts.success(t('reconciliation.wasRead', { name })),
    onError: (error) => toasts.error(toErrorMessage(error, t('app:unreachable'))),
    onSettled: invalidate,
  });
  return (
    <Button
      variant="default"
      size="xs"
      loading={read.isPending}
      aria-label={t('reconciliation.readNowOf', { name })}
      onClick={() => read.mutate()}
    >
      {t('reconciliation.readNow')}
    </Button>
  );
}

const MOST_DECIMALS = 3;

/** Formats amounts in a vendor's own units, such as `1.5 units`. */
function useFormatVendorUnits(): (amount: number, unit: string) => string {
  const { t } = useTranslation('costs');
  return (amount, unit) =>
    t('reconciliation.units', {
      amount: formatDecimal(amount, MOST_DECIMALS),
      unit: t(`reconciliation.vendorUnits.${unit as 'units'}`, { defaultValue: unit }),
    });
}
