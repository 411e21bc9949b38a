import { Button, Group, Switch, Text } from '@mantine/core';
import { IconDownload, IconFilterOff, IconListSearch } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { REQUEST_KINDS, REQUEST_STATUSES } from '../../../contract/request-kinds.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { ErrorAlert, toErrorMessage } from '../../components/error-alert.tsx';
import {
  ApiKeyFilter,
  ChannelFilter,
  ChoiceFilter,
  FilterBar,
  ModelFilter,
  PeriodFilter,
  UserFilter,
} from '../../components/list/filter-bar.tsx';
import { type ListFilters, useListFilters } from '../../components/list/use-list-filters.ts';
import { EmptyState, Page } from '../../components/page.tsx';
import { useToasts } from '../../components/toasts.tsx';
import {
  downloadRequests,
  followRequestLog,
  type RequestEntry,
  type RequestFilter,
  type RequestScope,
  requestsQuery,
} from '../../data/requests.ts';
import { useAdminRequestColumns, useOwnRequestColumns } from './request-columns.tsx';

/** Filters of a request log in the URL. */
const REQUEST_FILTERS = ['model', 'token_id', 'status', 'kind', 'user_id', 'channel_id', 'from', 'to'] as const;

interface RequestLogProps {
  readonly scope: RequestScope;
  readonly filters: ListFilters;
  readonly lead: string;
  /** Filters specific to the scope. */
  readonly filterFields: ReactNode;
  readonly columns: readonly Column<RequestEntry>[];
  readonly rows: RequestRows;
}

/** Finished calls with filters, pages, a live view and an export. */
function RequestLog({ scope, filters, lead, filterFields, columns, rows: log }: RequestLogProps) {
  const { t } = useTranslation(['requests', 'app', 'list']);
  return (
    <Page
      title={t('app:pages.requests')}
      subtitle={lead}
      actions={
        <>
          <Switch
            label={t('live')}
            checked={log.isLive}
            onChange={({ currentTarget }) => filters.set('live', currentTarget.checked ? 'true' : undefined)}
          />
          <ExportButton scope={scope} filters={filters} />
        </>
      }
    >
      <FilterBar filters={filters}>
        <ModelFilter filters={filters} />
        {filterFields}
        <ChoiceFilter
          filters={filters}
          name="status"
          label={t('status')}
          width={140}
          choices={REQUEST_STATUSES.map((value) => ({ value, label: t(`statuses.${value}`) }))}
        />
        <ChoiceFilter
          filters={filters}
          name="kind"
          label={t('kind')}
          width={140}
          choices={REQUEST_KINDS.map((value) => ({ value, label: t(`kinds.${value}`) }))}
        />
        <PeriodFilter filters={filters} />
      </FilterBar>
      <ErrorAlert error={log.error} retry={log.retry} />
      {log.isLive ? (
        <Text size="xs" c="dimmed" mb="xs" role="status">
          {t('liveHint', { count: log.newCount })}
        </Text>
      ) : null}
      {log.rows?.length === 0 ? (
        <NoRequests filters={filters} />
      ) : (
        <DataTable
          label={t('app:pages.requests')}
          columns={columns}
          rows={log.rows}
          rowKey={({ ref }) => ref}
          stale={log.isStale}
        />
      )}
      <KeysetPager filters={filters} next={log.next} />
    </Page>
  );
}

/** Rows of the current page, preceded by those of the live view. */
function useRequestRows(scope: RequestScope, filters: ListFilters) {
  const isLive = filters.flag('live') && filters.after === undefined;
  const page = useQuery(requestsQuery(scope, filters.value, filters.after));
  const live = useLiveRequests(scope, filters.value, isLive);
  const fresh = new Set(live.rows.map(({ ref }) => ref));
  return {
    rows: page.data && [...live.rows, ...page.data.data.filter(({ ref }) => !fresh.has(ref))],
    next: page.data?.next ?? null,
    error: page.error ?? live.error,
    retry: () => void page.refetch(),
    isStale: page.isPlaceholderData,
    isLive,
    newCount: live.rows.length,
  };
}
type RequestRows = ReturnType<typeof useRequestRows>;

function NoRequests({ filters }: { readonly filters: ListFilters }) {
  const { t } = useTranslation(['requests', 'list']);
  return filters.active ? (
    <EmptyState
      icon={<IconFilterOff size={28} />}
      title={t('list:noMatch')}
      action={
        <Button variant="default" onClick={filters.clear}>
          {t('list:clear')}
        </Button>
      }
    >
      {t('list:noMatchText')}
    </EmptyState>
  ) : (
    <EmptyState icon={<IconListSearch size={28} />} title={t('emptyTitle')}>
      {t('emptyText')}
    </EmptyState>
  );
}

/** Navigation of a list without page numbers: to older rows, and back to the newest. */
function KeysetPager({ filters, next }: { readonly filters: ListFilters; readonly next: string | null }) {
  const { t } = useTranslation('list');
  if (filters.after === undefined && next === null) return null;
  return (
    <Group justify="flex-end" gap="xs" mt="md">
      <Button
        variant="default"
        size="xs"
        disabled={filters.after === undefined}
        onClick={() => filters.setAfter(undefined)}
      >
        {t('newest')}
      </Button>
      <Button variant="default" size="xs" disabled={next === null} onClick={() => filters.setAfter(next ?? undefined)}>
        {t('older')}
      </Button>
    </Group>
  );
}

function ExportButton({ scope, filters }: { readonly scope: RequestScope; readonly filters: ListFilters }) {
  const { t } = useTranslation(['list', 'app']);
  const toasts = useToasts();
  const save = useMutation({
    mutationFn: () => downloadRequests(scope, filters.value),
    onError: (error) => toasts.error(toErrorMessage(error, t('app:unreachable'))),
  });
  return (
    <Button
      variant="default"
      leftSection={<IconDownload size={16} />}
      loading={save.isPending}
      onClick={() => save.mutate()}
    >
      {t('export')}
    </Button>
  );
}

/** Limit of the live view; older rows are on the next page. */
const MAX_ROWS = 200;

/** Calls that finished since the live view was enabled, newest first, and the error that ended it. */
function useLiveRequests(
  scope: RequestScope,
  filter: RequestFilter,
  enabled: boolean,
): { readonly rows: readonly RequestEntry[]; readonly error: unknown } {
  const [rows, setRows] = useState<readonly RequestEntry[]>([]);
  const [error, setError] = useState<unknown>();
  const key = JSON.stringify(filter);
  useEffect(() => {
    setRows([]);
    setError(undefined);
    if (!enabled) return;
    const controller = new AbortController();
    const { signal } = controller;
    const follow = async (): Promise<void> => {
      for await (const row of followRequestLog(scope, JSON.parse(key) as RequestFilter, signal))
        setRows((known) => [row, ...known].slice(0, MAX_ROWS));
    };
    follow().catch((failure: unknown) => {
      if (!signal.aborted) setError(failure);
    });
    return () => controller.abort();
  }, [scope, key, enabled]);
  return { rows, error };
}

/** Finished calls and videos of the account. */
export function RequestsPage() {
  const { t } = useTranslation('requests');
  const filters = useListFilters(REQUEST_FILTERS.filter((name) => name !== 'user_id' && name !== 'channel_id'));
  const rows = useRequestRows('own', filters);
  return (
    <RequestLog
      scope="own"
      filters={filters}
      lead={t('intro')}
      filterFields={<ApiKeyFilter filters={filters} />}
      columns={useOwnRequestColumns()}
      rows={rows}
    />
  );
}

/** Finished calls and videos of all accounts. */
export function AdminRequestsPage() {
  const { t } = useTranslation('requests');
  const filters = useListFilters(REQUEST_FILTERS);
  const rows = useRequestRows('all', filters);
  return (
    <RequestLog
      scope="all"
      filters={filters}
      lead={t('adminIntro')}
      filterFields={
        <>
          <UserFilter filters={filters} />
          <ChannelFilter filters={filters} />
        </>
      }
      columns={useAdminRequestColumns(rows.rows ?? [])}
      rows={rows}
    />
  );
}
