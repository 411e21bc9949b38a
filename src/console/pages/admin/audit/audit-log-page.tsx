import { Code, Text } from '@mantine/core';
import { IconHistory } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminListAudit } from '../../../../contract/admin-accounts.ts';
import { EmptyState } from '../../../components/empty-state.tsx';
import { EntityLink } from '../../../components/entity-link.tsx';
import { FilterBar, ID_PATTERN, TextFilter } from '../../../components/list/filter-bar.tsx';
import { PagedTable } from '../../../components/list/paged-table.tsx';
import { useListFilters } from '../../../components/list/use-list-filters.ts';
import { Page } from '../../../components/page.tsx';
import { RouteLink } from '../../../components/route-link.tsx';
import type { AuditEntry } from '../../../data/admin-types.ts';
import { formatDateTime } from '../../../data/format-time.ts';
import { listQuery } from '../../../data/make-endpoint-query.ts';
import { useUserNames } from '../../../data/user-and-channel-names.ts';
import { AuditAndLoginsTabs } from '../logins/audit-and-logins-tabs.tsx';
import { targetPath } from './audit-target-and-changed-keys.ts';
import { BeforeAndAfterDialog } from './before-and-after-dialog.tsx';
import { ChangedFields } from './changed-fields.tsx';

/** Who changed what. */
export function AuditLogPage() {
  const { t } = useTranslation(['admin', 'app']);
  const filters = useListFilters(['actor_id', 'action', 'target'], ['time']);
  const [shown, setShown] = useState<AuditEntry>();
  const entries = useQuery(listQuery(adminListAudit, filters.query));
  const users = useUserNames(entries.data?.data.flatMap(({ actor_id: id }) => (id === null ? [] : [id])));
  return (
    <Page
      title={t('app:pages.audit')}
      subtitle={t('audit.lead')}
      size="xl"
      actions={<AuditAndLoginsTabs current="/admin/audit" />}
    >
      <FilterBar filters={filters}>
        <TextFilter filters={filters} name="actor_id" label={t('audit.actorId')} width={160} pattern={ID_PATTERN} />
        <TextFilter filters={filters} name="action" label={t('audit.actionExample')} />
        <TextFilter filters={filters} name="target" label={t('audit.targetExample')} />
      </FilterBar>
      <PagedTable
        label={t('app:pages.audit')}
        query={entries}
        filters={filters}
        rowKey={({ id }) => id}
        emptyState={
          <EmptyState icon={<IconHistory size={28} />} title={t('audit.emptyTitle')}>
            {t('audit.emptyText')}
          </EmptyState>
        }
        columns={[
          { label: t('audit.action'), cell: ({ action }) => <Code style={{ whiteSpace: 'nowrap' }}>{action}</Code> },
          { label: t('audit.target'), cell: ({ target }) => <AuditTarget target={target} /> },
          { label: t('audit.change'), cell: (entry) => <ChangedFields entry={entry} onOpen={() => setShown(entry)} /> },
          {
            label: t('audit.actor'),
            cell: ({ actor_id: id }) =>
              id === null ? t('audit.service') : <EntityLink to="users" id={id} names={users} />,
          },
          { label: t('audit.address'), cell: ({ address }) => address || '–', hideOnPhone: true },
          {
            label: t('ledger.time'),
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

function AuditTarget({ target }: { readonly target: string }) {
  const path = targetPath(target);
  return path === undefined ? (
    <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
      {target}
    </Text>
  ) : (
    <RouteLink to={path} size="sm" style={{ overflowWrap: 'anywhere' }}>
      {target}
    </RouteLink>
  );
}
