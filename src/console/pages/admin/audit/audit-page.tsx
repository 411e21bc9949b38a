import { Code, Text } from '@mantine/core';
import { IconHistory } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminListAudit } from '../../../../contract/account-admin.ts';
import { listQuery, type RowOf } from '../../../data/admin.ts';
import { useUserNames } from '../../../data/names.ts';
import { toMoment } from '../../../data/time.ts';
import { Empty } from '../../../parts/empty.tsx';
import { Page } from '../../../parts/page.tsx';
import { FilterBar, ID, TextFilter } from '../frame/filter-bar.tsx';
import { useFilters } from '../frame/filters.ts';
import { NamedLink } from '../frame/named-link.tsx';
import { RecordList } from '../frame/record-list.tsx';
import { ToLink } from '../frame/to-link.tsx';
import { ChangeDialog } from './change-dialog.tsx';
import { Changed } from './changed.tsx';
import { pathOfTarget } from './target.ts';

export type AuditRow = RowOf<typeof adminListAudit>;

/** Who changed what. */
export function AuditPage() {
  const { t } = useTranslation(['admin', 'shell']);
  const filters = useFilters(['actor_id', 'action', 'target']);
  const [shown, setShown] = useState<AuditRow>();
  const entries = useQuery(listQuery(adminListAudit, filters.query));
  const users = useUserNames(entries.data?.data.flatMap(({ actor_id: id }) => (id === null ? [] : [id])));
  return (
    <Page title={t('shell:pages.audit')} lead={t('audit.lead')} size="xl">
      <FilterBar filters={filters}>
        <TextFilter filters={filters} name="actor_id" label={t('audit.actorId')} width={160} pattern={ID} />
        <TextFilter filters={filters} name="action" label={t('audit.actionExample')} />
        <TextFilter filters={filters} name="target" label={t('audit.targetExample')} />
      </FilterBar>
      <RecordList
        label={t('shell:pages.audit')}
        query={entries}
        filters={filters}
        keyOf={({ id }) => id}
        empty={
          <Empty icon={<IconHistory size={28} />} title={t('audit.emptyTitle')}>
            {t('audit.emptyText')}
          </Empty>
        }
        columns={[
          { label: t('audit.action'), cell: ({ action }) => <Code style={{ whiteSpace: 'nowrap' }}>{action}</Code> },
          { label: t('audit.target'), cell: ({ target }) => <Target target={target} /> },
          { label: t('audit.change'), cell: (entry) => <Changed entry={entry} onOpen={() => setShown(entry)} /> },
          {
            label: t('audit.actor'),
            cell: ({ actor_id: id }) =>
              id === null ? t('audit.service') : <NamedLink to="users" id={id} names={users} />,
          },
          { label: t('audit.address'), cell: ({ address }) => address || '–', wide: true },
          {
            label: t('ledger.time'),
            cell: ({ created_time: at }) => (
              <Text size="sm" style={{ whiteSpace: 'nowrap' }}>
                {toMoment(at)}
              </Text>
            ),
          },
        ]}
      />
      {shown === undefined ? null : <ChangeDialog entry={shown} onClose={() => setShown(undefined)} />}
    </Page>
  );
}

function Target({ target }: { readonly target: string }) {
  const path = pathOfTarget(target);
  return path === undefined ? (
    <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
      {target}
    </Text>
  ) : (
    <ToLink to={path} size="sm" style={{ overflowWrap: 'anywhere' }}>
      {target}
    </ToLink>
  );
}
