import { Alert, Button, Code, Group, List, Text } from '@mantine/core';
import { IconDownload, IconReceipt2, IconScale } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { checkLedger, LEDGER_KINDS, listLedger } from '../../../../contract/ledger.ts';
import { useSettlementName, WalletAndPlanAmount } from '../../../components/credit-amount.tsx';
import { PagedTable } from '../../../components/data-table.tsx';
import { Dialog } from '../../../components/dialog.tsx';
import { ErrorAlert, toErrorMessage } from '../../../components/error-alert.tsx';
import { ChoiceFilter, FilterBar, TaskFilter, UserFilter } from '../../../components/list/filter-bar.tsx';
import { useListFilters } from '../../../components/list/use-list-filters.ts';
import { EmptyState, Page } from '../../../components/page.tsx';
import { OwnerLink, RouteLink } from '../../../components/route-link.tsx';
import { SegmentedControl } from '../../../components/segmented-control.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import { type ListItem, listQuery, useUserNames } from '../../../data/admin.ts';
import { callApi } from '../../../data/api-client.ts';
import { downloadRowsAsCsv } from '../../../data/files.ts';
import { formatColon, formatDateTime } from '../../../data/format-values.ts';
import { useSelf } from '../../../data/self.ts';

/** Ledger entries of all wallets. */
export function LedgerPage() {
  const { t } = useTranslation(['admin', 'app']);
  const filters = useListFilters(['user_id', 'task_id', 'kind'], ['time']);
  const isNet = !filters.flag('entries') && filters.value.kind === undefined;
  const entries = useQuery(listQuery(listLedger, { ...filters.query, net: isNet ? 'true' : undefined }));
  const users = useUserNames(entries.data?.data.map(({ user_id: id }) => id));
  const { data: self } = useSelf();
  return (
    <Page
      title={t('app:pages.ledger')}
      subtitle={t('ledger.lead')}
      actions={
        <Group gap="xs">
          {self?.role === 'root' ? <AuditLedger /> : null}
          <ExportLedger filter={filters.value} total={entries.data?.total ?? 0} />
        </Group>
      }
    >
      <FilterBar filters={filters}>
        <UserFilter filters={filters} />
        <TaskFilter filters={filters} />
        <ChoiceFilter
          filters={filters}
          name="kind"
          label={t('ledger.kind')}
          choices={LEDGER_KINDS.map((value) => ({ value, label: t(`ledger.kinds.${value}`) }))}
        />
        {filters.value.kind === undefined ? (
          <SegmentedControl
            aria-label={t('ledger.rows')}
            value={isNet ? 'calls' : 'entries'}
            onChange={(rows) => filters.set('entries', rows === 'entries' ? 'true' : undefined)}
            data={(['calls', 'entries'] as const).map((value) => ({ value, label: t(`ledger.views.${value}`) }))}
          />
        ) : null}
      </FilterBar>
      <PagedTable
        label={t('app:pages.ledger')}
        query={entries}
        filters={filters}
        rowKey={({ id }) => id}
        emptyState={
          <EmptyState icon={<IconReceipt2 size={28} />} title={t('ledger.emptyTitle')}>
            {t('ledger.emptyText')}
          </EmptyState>
        }
        columns={[
          {
            label: t('ledger.time'),
            sortKey: 'time',
            cell: ({ created_time: at }) => (
              <Text size="sm" style={{ whiteSpace: 'nowrap' }}>
                {formatDateTime(at)}
              </Text>
            ),
          },
          { label: t('ledger.kind'), cell: (entry) => <EntryKind {...entry} /> },
          {
            label: t('tasks.user'),
            cell: (entry) => <OwnerLink {...entry} names={users} />,
          },
          { label: t('ledger.for'), cell: (entry) => <EntrySource {...entry} /> },
          { label: t('ledger.amount'), align: 'right', cell: (entry) => <WalletAndPlanAmount {...entry} /> },
        ]}
      />
    </Page>
  );
}

type LedgerEntry = ListItem<typeof listLedger>;

/** What an entry did; a call opens to its reservation and settlement. */
function EntryKind({ kind, steps = [] }: Pick<LedgerEntry, 'kind' | 'steps'>) {
  const { t } = useTranslation('admin');
  const settlement = useSettlementName();
  const nameOf = (each: string): string => t(`ledger.kinds.${each}` as 'ledger.kinds.reserve');
  if (steps.length < 2) return nameOf(kind);
  return (
    <details>
      <summary style={{ cursor: 'pointer' }}>{t(kind === 'settle' ? 'ledger.charged' : 'ledger.returned')}</summary>
      {steps.map((step) => (
        <Text key={step.kind} size="xs" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
          {step.kind === 'settle' ? settlement(step.amount + step.plan_amount) : nameOf(step.kind)}
          {step.amount === 0 && step.plan_amount === 0 ? null : (
            <>
              {formatColon()}
              <WalletAndPlanAmount {...step} />
            </>
          )}
        </Text>
      ))}
    </details>
  );
}

const IS_OF_CALL: ReadonlySet<string> = new Set(['reserve', 'settle', 'refund']);
/** Causes by the prefix of a grant's `request_id`. */
const CAUSES = ['admin', 'code', 'open'] as const;

/** The video, call or cause of an entry. */
function EntrySource({
  kind,
  task_id: taskId,
  request_id: requestId,
  prompt = '',
}: Pick<LedgerEntry, 'kind' | 'task_id' | 'request_id' | 'prompt'>) {
  const { t } = useTranslation('admin');
  const cause = CAUSES.find((each) => requestId.startsWith(`${each}:`));
  if (cause !== undefined)
    return (
      <Text size="sm" title={requestId}>
        {t(`ledger.causes.${cause}`)}
      </Text>
    );
  if (taskId !== '')
    return (
      <RouteLink
        to="/admin/tasks/$id"
        params={{ id: taskId }}
        size="sm"
        title={prompt || taskId}
        lineClamp={1}
        maw={420}
      >
        {prompt === '' ? taskId : prompt}
      </RouteLink>
    );
  if (!IS_OF_CALL.has(kind)) return '–';
  return (
    <RouteLink to="/account/receipts/$id" params={{ id: requestId }} size="sm" title={requestId}>
      {t('ledger.call')}
    </RouteLink>
  );
}

/** Runs the ledger audit (every balance equals the sum of its entries) and shows the result. */
function AuditLedger() {
  const { t } = useTranslation('admin');
  const check = useMutation({ mutationFn: async () => (await callApi(checkLedger, {})).data });
  const result = check.data;
  return (
    <>
      <Button
        variant="default"
        leftSection={<IconScale size={16} />}
        loading={check.isPending}
        onClick={() => check.mutate()}
      >
        {t('ledger.check')}
      </Button>
      {result === undefined && check.error === null ? null : (
        <Dialog onClose={check.reset} title={t('ledger.check')}>
          <ErrorAlert error={check.error} />
          {result?.ok === true ? <Alert color="teal">{t('ledger.checkOk')}</Alert> : null}
          {result?.ok === false ? (
            <Alert color="red" title={t('ledger.checkFailed')}>
              <List size="sm">
                {result.errors.map(({ rule, at, expected, found }) => (
                  <List.Item key={`${rule} ${at}`}>
                    <Code>{rule}</Code> {at}
                    <Text size="xs">{t('ledger.difference', { expected, found })}</Text>
                  </List.Item>
                ))}
              </List>
            </Alert>
          ) : null}
        </Dialog>
      )}
    </>
  );
}

interface ExportLedgerProps {
  readonly filter: Readonly<Record<string, string | undefined>>;
  readonly total: number;
}

const PAGE_SIZE = 50;
/** Limit of the export; a database query is the better tool above it. */
const MAX_ROWS = 20_000;
const COLUMNS = [
  ...(['id', 'created_time', 'user_id', 'organization', 'submitted_by'] as const),
  ...(['kind', 'amount', 'plan_amount', 'task_id', 'request_id'] as const),
] as const;

/** Exports the filtered list as CSV, with amounts in quota. */
function ExportLedger({ filter, total }: ExportLedgerProps) {
  const { t } = useTranslation(['admin', 'app']);
  const toasts = useToasts();
  const [count, setCount] = useState(0);
  const save = useMutation({
    mutationFn: async () => {
      const rows = new Map<number, readonly (string | number)[]>();
      let after: string | undefined | null;
      while (rows.size < MAX_ROWS && after !== null) {
        const query = { ...filter, after, page_size: String(PAGE_SIZE) };
        const { data, next } = await callApi(listLedger, { query });
        for (const { created_time: at, ...row } of data) {
          const values = { ...row, created_time: new Date(at * 1000).toISOString() };
          rows.set(
            row.id,
            COLUMNS.map((name) => values[name]),
          );
        }
        setCount(rows.size);
        after = next;
      }
      await downloadRowsAsCsv('ledger.csv', COLUMNS, [...rows.values()]);
      return { count: rows.size, isPart: after !== null };
    },
    onSuccess: ({ count: saved, isPart }) =>
      toasts.success(t(isPart ? 'ledger.exportedPart' : 'ledger.exported', { count: saved })),
    onError: (error) => toasts.error(toErrorMessage(error, t('app:unreachable'))),
  });
  return (
    <Button
      variant="default"
      leftSection={<IconDownload size={16} />}
      disabled={total === 0 || save.isPending}
      onClick={() => save.mutate()}
    >
      {save.isPending ? t('ledger.exporting', { count }) : t('ledger.export')}
    </Button>
  );
}
