import { Badge, Button, Group, Text } from '@mantine/core';
import { IconPlus, IconTicket } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminListCodes, type CodeStatus } from '../../../../contract/packages.ts';
import { listQuery, type RowOf } from '../../../data/admin.ts';
import { useUserNames } from '../../../data/names.ts';
import { toDay } from '../../../data/time.ts';
import { Empty } from '../../../parts/empty.tsx';
import { Page } from '../../../parts/page.tsx';
import { useQuota } from '../../../parts/quota.tsx';
import { ChoiceFilter, FilterBar, ID, TextFilter } from '../frame/filter-bar.tsx';
import { useFilters } from '../frame/filters.ts';
import { NamedLink } from '../frame/named-link.tsx';
import { RecordList } from '../frame/record-list.tsx';
import { ToLink } from '../frame/to-link.tsx';
import { CodeActions } from './code-actions.tsx';
import { ExportCodes } from './export-codes.tsx';
import { NewCodesDialog } from './new-codes-dialog.tsx';
import { VoidBatch } from './void-batch.tsx';

export type CodeRow = RowOf<typeof adminListCodes>;
const COLOR: Readonly<Record<CodeStatus, string>> = { unused: 'blue', used: 'teal', voided: 'red', expired: 'gray' };

/** Redemption codes, masked, and what became of them. */
export function CodesPage() {
  const { t } = useTranslation(['plans', 'shell']);
  const filters = useFilters(['status', 'batch_id', 'package_code']);
  const [making, setMaking] = useState(false);
  const codes = useQuery(listQuery(adminListCodes, filters.query));
  const users = useUserNames(codes.data?.data.map(({ used_by: id }) => id).filter((id) => id !== 0));
  const make = (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setMaking(true)}>
      {t('codes.make')}
    </Button>
  );
  const { batch_id: batch } = filters.value;
  return (
    <Page
      title={t('shell:pages.codes')}
      lead={t('codes.lead')}
      size="xl"
      actions={
        <>
          {batch === undefined ? null : <VoidBatch id={Number(batch)} />}
          <ExportCodes filter={filters.value} total={codes.data?.total ?? 0} />
          {make}
        </>
      }
    >
      <FilterBar filters={filters}>
        <ChoiceFilter
          filters={filters}
          name="status"
          label={t('codes.status')}
          choices={Object.keys(COLOR).map((value) => ({ value, label: t(`codes.states.${value as CodeStatus}`) }))}
        />
        <TextFilter filters={filters} name="batch_id" label={t('codes.batchId')} width={160} pattern={ID} />
        <TextFilter filters={filters} name="package_code" label={t('codes.planName')} width={180} />
      </FilterBar>
      <RecordList
        label={t('shell:pages.codes')}
        query={codes}
        filters={filters}
        keyOf={({ id }) => id}
        empty={
          <Empty icon={<IconTicket size={28} />} title={t('codes.emptyTitle')} action={make}>
            {t('codes.emptyText')}
          </Empty>
        }
        columns={[
          {
            label: t('codes.code'),
            cell: ({ code }) => (
              <Text size="sm" ff="monospace">
                {code}
              </Text>
            ),
          },
          { label: t('codes.for'), cell: (code) => <For code={code} /> },
          { label: t('codes.batch'), cell: (code) => <Batch code={code} /> },
          {
            label: t('codes.status'),
            cell: ({ status }) => <Badge color={COLOR[status]}>{t(`codes.states.${status}`)}</Badge>,
          },
          { label: t('codes.until'), cell: ({ expires_at: at }) => (at === 0 ? '–' : toDay(at)), wide: true },
          {
            label: t('codes.usedBy'),
            cell: ({ used_by: id }) => <NamedLink to="users" id={id === 0 ? null : id} names={users} />,
          },
          { label: t('shell:edit'), quiet: true, align: 'right', cell: (code) => <CodeActions code={code} /> },
        ]}
      />
      {making ? <NewCodesDialog onClose={() => setMaking(false)} /> : null}
    </Page>
  );
}

function For({ code }: { readonly code: CodeRow }) {
  const quota = useQuota();
  return code.package_code === '' ? quota(code.quota) : code.package_code;
}

function Batch({ code: { batch_id: id, note } }: { readonly code: CodeRow }) {
  return (
    <Group gap={6} wrap="nowrap" maw={220}>
      <ToLink to="/admin/codes" search={{ batch_id: id }} size="sm">
        {`#${id}`}
      </ToLink>
      <Text size="xs" c="dimmed" truncate title={note}>
        {note}
      </Text>
    </Group>
  );
}
