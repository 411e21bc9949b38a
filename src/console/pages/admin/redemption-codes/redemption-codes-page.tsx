import { Badge, Button, Group, Text } from '@mantine/core';
import { IconPlus, IconTicket } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import {
  adminListRedemptionCodes,
  adminVoidRedemptionCode,
  CODE_SORTS,
  type CodeStatus,
} from '../../../../contract/plans.ts';
import { EmptyState } from '../../../components/empty-state.tsx';
import { BulkBar } from '../../../components/list/bulk-bar.tsx';
import { ChoiceFilter, FilterBar, ID_PATTERN, TextFilter } from '../../../components/list/filter-bar-and-fields.tsx';
import { PagedTable } from '../../../components/list/paged-table.tsx';
import { type ListFilters, useListFilters } from '../../../components/list/use-list-filters.ts';
import { type RowSelection, useRowSelection } from '../../../components/list/use-row-selection.ts';
import { Page } from '../../../components/page.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { RouteLink } from '../../../components/route-link.tsx';
import { useFormatCredits } from '../../../components/use-format-credits.ts';
import { UserOrChannelLink } from '../../../components/user-or-channel-link.tsx';
import type { CodeListItem } from '../../../data/admin-types.ts';
import { callApi } from '../../../data/api-client.ts';
import { formatDate } from '../../../data/format-times-and-durations.ts';
import { listQuery, useInvalidateQueries } from '../../../data/query-any-admin-endpoint.ts';
import { useUserNames } from '../../../data/user-and-channel-names.ts';
import { ExportCodes } from './export-codes.tsx';
import { CodeActions } from './extend-and-revoke-code-buttons.tsx';
import { NewCodesDialog } from './new-codes-dialog.tsx';
import { RevokeCodeBatch } from './revoke-code-batch.tsx';

const STATUS_COLOR: Readonly<Record<CodeStatus, string>> = {
  unused: 'blue',
  used: 'teal',
  voided: 'red',
  expired: 'gray',
};

/** Redemption codes, masked, and what became of them. */
export function RedemptionCodesPage() {
  const { t } = useTranslation(['admin-redemption-codes', 'app']);
  const filters = useListFilters(['status', 'batch_id', 'package_code'], CODE_SORTS);
  const [making, setMaking] = useState(false);
  const codes = useQuery(listQuery(adminListRedemptionCodes, filters.query));
  const selection = useRowSelection<CodeListItem>(
    ({ id }) => id,
    ({ status }) => status === 'unused',
  );
  const users = useUserNames(codes.data?.data.map(({ used_by: id }) => id).filter((id) => id !== 0));
  const make = (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setMaking(true)}>
      {t('make')}
    </Button>
  );
  const { batch_id: batch } = filters.value;
  return (
    <Page
      title={t('app:pages.codes')}
      subtitle={t('lead')}
      size="xl"
      actions={
        <>
          {batch === undefined ? null : <RevokeCodeBatch id={Number(batch)} />}
          <ExportCodes filter={filters.value} total={codes.data?.total ?? 0} />
          {make}
        </>
      }
    >
      <CodeFilters filters={filters} />
      <PagedTable
        label={t('app:pages.codes')}
        query={codes}
        filters={filters}
        rowKey={({ id }) => id}
        selection={selection}
        emptyState={
          <EmptyState icon={<IconTicket size={28} />} title={t('emptyTitle')} action={make}>
            {t('emptyText')}
          </EmptyState>
        }
        columns={[
          {
            label: t('code'),
            cell: ({ code }) => (
              <Text size="sm" ff="monospace">
                {code}
              </Text>
            ),
          },
          { label: t('for'), cell: (code) => <CodeValue code={code} /> },
          { label: t('batch'), sortKey: 'batch', cell: (code) => <BatchLink code={code} /> },
          {
            label: t('status'),
            cell: ({ status }) => <Badge color={STATUS_COLOR[status]}>{t(`states.${status}`)}</Badge>,
          },
          {
            label: t('until'),
            sortKey: 'expires',
            cell: ({ expires_at: at }) => (at === 0 ? '–' : formatDate(at)),
            hideOnPhone: true,
          },
          {
            label: t('usedBy'),
            cell: ({ used_by: id }) => <UserOrChannelLink to="users" id={id === 0 ? null : id} names={users} />,
          },
          {
            label: t('usedTime'),
            sortKey: 'used',
            cell: ({ used_time: at }) => <RelativeTime at={at} never="–" size="sm" />,
            hideOnPhone: true,
          },
          { label: t('app:edit'), hideLabel: true, align: 'right', cell: (code) => <CodeActions code={code} /> },
        ]}
      />
      <CodeBulkBar selection={selection} />
      {making ? <NewCodesDialog onClose={() => setMaking(false)} /> : null}
    </Page>
  );
}

/** What can be done with several at once. */
function CodeBulkBar({ selection }: { readonly selection: RowSelection<CodeListItem> }) {
  const { t } = useTranslation('admin-redemption-codes');
  const invalidate = useInvalidateQueries();
  return (
    <BulkBar
      selection={selection}
      nameOf={({ code }) => code}
      onDone={invalidate}
      actions={[
        {
          id: 'void',
          label: t('void'),
          text: t('voidText'),
          run: ({ id }) => callApi(adminVoidRedemptionCode, { params: { id: String(id) } }),
          isDangerous: true,
        },
      ]}
    />
  );
}

function CodeFilters({ filters }: { readonly filters: ListFilters }) {
  const { t } = useTranslation('admin-redemption-codes');
  return (
    <FilterBar filters={filters}>
      <ChoiceFilter
        filters={filters}
        name="status"
        label={t('status')}
        choices={Object.keys(STATUS_COLOR).map((value) => ({
          value,
          label: t(`states.${value as CodeStatus}`),
        }))}
      />
      <TextFilter filters={filters} name="batch_id" label={t('batchId')} width={160} pattern={ID_PATTERN} />
      <TextFilter filters={filters} name="package_code" label={t('planName')} width={180} />
    </FilterBar>
  );
}

function CodeValue({ code }: { readonly code: CodeListItem }) {
  const quota = useFormatCredits();
  return code.package_code === '' ? quota(code.quota) : code.package_code;
}

function BatchLink({ code: { batch_id: id, note } }: { readonly code: CodeListItem }) {
  return (
    <Group gap={6} wrap="nowrap" maw={220}>
      <RouteLink to="/admin/codes" search={{ batch_id: id }} size="sm">
        {`#${id}`}
      </RouteLink>
      <Text size="xs" c="dimmed" truncate title={note}>
        {note}
      </Text>
    </Group>
  );
}
