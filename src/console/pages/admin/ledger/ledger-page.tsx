import { Group, Text } from '@mantine/core';
import { IconReceipt2 } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { LEDGER_KINDS, listLedger } from '../../../../contract/usage.ts';
import { listQuery } from '../../../data/admin.ts';
import { useUserNames } from '../../../data/names.ts';
import { useSelf } from '../../../data/queries.ts';
import { toMoment } from '../../../data/time.ts';
import { Empty } from '../../../parts/empty.tsx';
import { Page } from '../../../parts/page.tsx';
import { ChoiceFilter, FilterBar, ID, TextFilter } from '../frame/filter-bar.tsx';
import { useFilters } from '../frame/filters.ts';
import { NamedLink } from '../frame/named-link.tsx';
import { RecordList } from '../frame/record-list.tsx';
import { ToLink } from '../frame/to-link.tsx';
import { Amount } from './amount.tsx';
import { CheckBooks } from './check-books.tsx';
import { ExportLedger } from './export-ledger.tsx';

/** Every change of every wallet. */
export function LedgerPage() {
  const { t } = useTranslation(['admin', 'shell']);
  const filters = useFilters(['user_id', 'task_id', 'kind']);
  const entries = useQuery(listQuery(listLedger, filters.query));
  const users = useUserNames(entries.data?.data.map(({ user_id: id }) => id));
  const { data: self } = useSelf();
  return (
    <Page
      title={t('shell:pages.ledger')}
      lead={t('ledger.lead')}
      size="xl"
      actions={
        <Group gap="xs">
          {self?.role === 'root' ? <CheckBooks /> : null}
          <ExportLedger filter={filters.value} total={entries.data?.total ?? 0} />
        </Group>
      }
    >
      <FilterBar filters={filters}>
        <TextFilter filters={filters} name="user_id" label={t('tasks.userId')} width={150} pattern={ID} />
        <TextFilter filters={filters} name="task_id" label={t('tasks.id')} />
        <ChoiceFilter
          filters={filters}
          name="kind"
          label={t('ledger.kind')}
          choices={LEDGER_KINDS.map((value) => ({ value, label: t(`ledger.kinds.${value}`) }))}
        />
      </FilterBar>
      <RecordList
        label={t('shell:pages.ledger')}
        query={entries}
        filters={filters}
        keyOf={({ id }) => id}
        empty={
          <Empty icon={<IconReceipt2 size={28} />} title={t('ledger.emptyTitle')}>
            {t('ledger.emptyText')}
          </Empty>
        }
        columns={[
          {
            label: t('ledger.time'),
            cell: ({ created_time: at }) => (
              <Text size="sm" style={{ whiteSpace: 'nowrap' }}>
                {toMoment(at)}
              </Text>
            ),
          },
          { label: t('ledger.kind'), cell: ({ kind }) => t(`ledger.kinds.${kind}` as 'ledger.kinds.reserve') },
          {
            label: t('tasks.user'),
            cell: ({ user_id: id }) => <NamedLink to="users" id={id} names={users} />,
          },
          { label: t('ledger.for'), cell: (entry) => <For {...entry} /> },
          { label: t('ledger.amount'), align: 'right', cell: ({ amount }) => <Amount value={amount} /> },
        ]}
      />
    </Page>
  );
}

function For({ task_id: taskId, request_id: requestId }: { readonly task_id: string; readonly request_id: string }) {
  if (taskId === '')
    return (
      <Text size="sm" ff="monospace" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
        {requestId || '–'}
      </Text>
    );
  return (
    <ToLink
      to={`/admin/tasks/${encodeURIComponent(taskId)}`}
      size="sm"
      ff="monospace"
      style={{ overflowWrap: 'anywhere' }}
    >
      {taskId}
    </ToLink>
  );
}
