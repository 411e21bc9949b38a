import { Text } from '@mantine/core';
import { IconHistory } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminListAudit } from '../../../../contract/admin-accounts.ts';
import { EmptyState } from '../../../components/empty-state.tsx';
import { ChoiceFilter, FilterBar, TextFilter } from '../../../components/list/filter-bar-and-fields.tsx';
import { PagedTable } from '../../../components/list/paged-table.tsx';
import { useListFilters } from '../../../components/list/use-list-filters.ts';
import { UserFilter } from '../../../components/list/user-channel-key-and-model-filters.tsx';
import { Page } from '../../../components/page.tsx';
import { RouteLink } from '../../../components/route-link.tsx';
import { UserOrChannelLink } from '../../../components/user-or-channel-link.tsx';
import type { AuditEntry } from '../../../data/admin-types.ts';
import { formatDateTime } from '../../../data/format-times-and-durations.ts';
import { listQuery } from '../../../data/query-any-admin-endpoint.ts';
import { useUserNames } from '../../../data/user-and-channel-names.ts';
import { AuditAndLoginsTabs } from '../logins/audit-and-logins-tabs.tsx';
import { targetPath } from './audit-target-path-and-changed-keys.ts';
import { BeforeAndAfterDialog } from './before-and-after-dialog.tsx';
import { ChangedFieldNames } from './changed-field-names.tsx';
import { describeAction, describeTarget, listActions } from './describe-audit-action-and-target.ts';

/** Who changed what. */
export function AuditLogPage() {
  const { t } = useTranslation(['audit', 'app']);
  const filters = useListFilters(['actor_id', 'action', 'target'], ['time']);
  const [shown, setShown] = useState<AuditEntry>();
  const entries = useQuery(listQuery(adminListAudit, filters.query));
  const users = useUserNames(entries.data?.data.flatMap(({ actor_id: id }) => (id === null ? [] : [id])));
  return (
    <Page
      title={t('app:pages.audit')}
      subtitle={t('lead')}
      size="xl"
      actions={<AuditAndLoginsTabs current="/admin/audit" />}
    >
      <FilterBar filters={filters}>
        <UserFilter filters={filters} name="actor_id" label={t('actor')} />
        <ChoiceFilter filters={filters} name="action" label={t('action')} width={260} choices={listActions(t)} />
        <TextFilter filters={filters} name="target" label={t('targetExample')} />
      </FilterBar>
      <PagedTable
        label={t('app:pages.audit')}
        query={entries}
        filters={filters}
        rowKey={({ id }) => id}
        emptyState={
          <EmptyState icon={<IconHistory size={28} />} title={t('emptyTitle')}>
            {t('emptyText')}
          </EmptyState>
        }
        columns={[
          { label: t('action'), cell: ({ action }) => <AuditAction action={action} /> },
          { label: t('target'), cell: ({ target }) => <AuditTarget target={target} /> },
          { label: t('change'), cell: (entry) => <ChangedFieldNames entry={entry} onOpen={() => setShown(entry)} /> },
          {
            label: t('actor'),
            cell: ({ actor_id: id }) =>
              id === null ? t('service') : <UserOrChannelLink to="users" id={id} names={users} />,
          },
          { label: t('address'), cell: ({ address }) => address || '–', hideOnPhone: true },
          {
            label: t('time'),
            sortKey: 'time',
            cell: ({ created_time: at }) => (
              <Text size="sm" style={{ whiteSpace: 'nowrap' }}>
                {formatDateTime(at)}
              </Text>
            ),
          },
        ]}
      />
      {shown === undefined ? null : <BeforeAndAfterDialog entry={shown} onClose={() => setShown(undefined)} />}
    </Page>
  );
}

/** In words; what it is stored as is what programs filter by. */
function AuditAction({ action }: { readonly action: string }) {
  const { t } = useTranslation('audit');
  return (
    <Text size="sm" title={action}>
      {describeAction(t, action)}
    </Text>
  );
}

function AuditTarget({ target }: { readonly target: string }) {
  const { t } = useTranslation('audit');
  const path = targetPath(target);
  return path === undefined ? (
    <Text size="sm" miw={110} style={{ overflowWrap: 'anywhere' }}>
      {describeTarget(t, target)}
    </Text>
  ) : (
    <RouteLink to={path} size="sm" miw={110} display="inline-block" style={{ overflowWrap: 'anywhere' }}>
      {describeTarget(t, target)}
    </RouteLink>
  );
}
