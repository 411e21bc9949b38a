import { Group, Text } from '@mantine/core';
import { IconReceipt2 } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { LEDGER_KINDS, listLedger } from '../../../../contract/ledger.ts';
import { EmptyState } from '../../../components/empty-state.tsx';
import { ChoiceFilter, FilterBar, ID_PATTERN, TextFilter } from '../../../components/list/filter-bar-and-fields.tsx';
import { PagedTable } from '../../../components/list/paged-table.tsx';
import { useListFilters } from '../../../components/list/use-list-filters.ts';
import { Page } from '../../../components/page.tsx';
import { RouteLink } from '../../../components/route-link.tsx';
import { SignedAmount } from '../../../components/signed-amount.tsx';
import { UserOrChannelLink } from '../../../components/user-or-channel-link.tsx';
import { formatDateTime } from '../../../data/format-times-and-durations.ts';
import { listQuery } from '../../../data/query-any-admin-endpoint.ts';
import { useSelf } from '../../../data/signed-in-user-and-site-queries.ts';
import { useUserNames } from '../../../data/user-and-channel-names.ts';
import { AuditLedger } from './audit-ledger.tsx';
import { ExportLedger } from './export-ledger.tsx';

/** Every change of every wallet. */
export function LedgerPage() {
  const { t } = useTranslation(['admin', 'app']);
  const filters = useListFilters(['user_id', 'task_id', 'kind'], ['time']);
  const entries = useQuery(listQuery(listLedger, filters.query));
  const users = useUserNames(entries.data?.data.map(({ user_id: id }) => id));
  const { data: self } = useSelf();
  return (
    <Page
      title={t('app:pages.ledger')}
      subtitle={t('ledger.lead')}
      size="xl"
      actions={
        <Group gap="xs">
          {self?.role === 'root' ? <AuditLedger /> : null}
          <ExportLedger filter={filters.value} total={entries.data?.total ?? 0} />
        </Group>
      }
    >
      <FilterBar filters={filters}>
        <TextFilter filters={filters} name="user_id" label={t('tasks.userId')} width={150} pattern={ID_PATTERN} />
        <TextFilter filters={filters} name="task_id" label={t('tasks.id')} />
        <ChoiceFilter
          filters={filters}
          name="kind"
          label={t('ledger.kind')}
          choices={LEDGER_KINDS.map((value) => ({ value, label: t(`ledger.kinds.${value}`) }))}
        />
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
          { label: t('ledger.kind'), cell: ({ kind }) => t(`ledger.kinds.${kind}` as 'ledger.kinds.reserve') },
          {
            label: t('tasks.user'),
            cell: ({ user_id: id }) => <UserOrChannelLink to="users" id={id} names={users} />,
          },
          { label: t('ledger.for'), cell: (entry) => <EntrySource {...entry} /> },
          { label: t('ledger.amount'), align: 'right', cell: ({ amount }) => <SignedAmount value={amount} /> },
        ]}
      />
    </Page>
  );
}

function EntrySource({
  task_id: taskId,
  request_id: requestId,
}: {
  readonly task_id: string;
  readonly request_id: string;
}) {
  if (taskId === '')
    return (
      <Text size="sm" ff="monospace" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
        {requestId || '–'}
      </Text>
    );
  return (
    <RouteLink
      to="/admin/tasks/$id"
      params={{ id: taskId }}
      size="sm"
      ff="monospace"
      style={{ overflowWrap: 'anywhere' }}
    >
      {taskId}
    </RouteLink>
  );
}
