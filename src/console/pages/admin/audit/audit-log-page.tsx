import { Anchor, Code, Text } from '@mantine/core';
import { IconHistory } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { TFunction } from 'i18next';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminListAudit } from '../../../../contract/admin-accounts.ts';
import { DataTable } from '../../../components/data-table.tsx';
import { Dialog } from '../../../components/dialog.tsx';
import { ChoiceFilter, FilterBar, TextFilter, UserFilter } from '../../../components/list/filter-bar.tsx';
import { PagedTable } from '../../../components/list/paged-table.tsx';
import { useListFilters } from '../../../components/list/use-list-filters.ts';
import { EmptyState, Page } from '../../../components/page.tsx';
import { RouteLink, UserOrChannelLink } from '../../../components/route-link.tsx';
import { type AuditEntry, listQuery } from '../../../data/admin.ts';
import { formatDateTime } from '../../../data/format-times.ts';
import { useUserNames } from '../../../data/names.ts';
import { auditTargetPath, changedKeys } from './audit-entry.ts';
import { AuditAndLoginsTabs } from './audit-tabs.tsx';

/** Log of changes, with the account that made each. */
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

/** Name of an action in words, with the stored name, by which programs filter. */
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
  const path = auditTargetPath(target);
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

/** Values before and after a change, side by side. */
function BeforeAndAfterDialog({ entry, onClose }: { readonly entry: AuditEntry; readonly onClose: () => void }) {
  const { t } = useTranslation('audit');
  const side = (value: unknown): Record<string, unknown> =>
    typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  return (
    <Dialog
      onClose={onClose}
      title={`${describeAction(t, entry.action)} · ${describeTarget(t, entry.target)}`}
      size="xl"
    >
      <DataTable
        label={t('change')}
        rows={changedKeys(entry.before, entry.after)}
        rowKey={(key) => key}
        columns={[
          {
            label: t('field'),
            cell: (key) => (
              <Text size="sm" fw={600} maw={220} style={{ overflowWrap: 'anywhere' }}>
                {key}
              </Text>
            ),
          },
          { label: t('before'), cell: (key) => <Value value={side(entry.before)[key]} /> },
          { label: t('after'), cell: (key) => <Value value={side(entry.after)[key]} /> },
        ]}
      />
      <Text size="xs" c="dimmed" mt="md">
        {t('action')} <Code>{entry.action}</Code> · {t('target')} <Code>{entry.target}</Code> · {t('request')}{' '}
        <Code>{entry.request_id || '–'}</Code>
      </Text>
    </Dialog>
  );
}

function Value({ value }: { readonly value: unknown }) {
  const text = value === undefined ? '–' : typeof value === 'string' ? value : JSON.stringify(value, null, 1);
  return (
    <Text size="sm" style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
      {text}
    </Text>
  );
}

const MAX_FIELDS = 4;

/** Names of the fields an audit entry changed; a click opens their values. */
function ChangedFieldNames({ entry, onOpen }: { readonly entry: AuditEntry; readonly onOpen: () => void }) {
  const { t } = useTranslation('audit');
  const keys = changedKeys(entry.before, entry.after);
  if (keys.length === 0)
    return (
      <Text size="sm" c="dimmed">
        –
      </Text>
    );
  const rest = keys.length - MAX_FIELDS;
  return (
    <Anchor component="button" type="button" size="sm" ta="left" onClick={onOpen}>
      {keys.slice(0, MAX_FIELDS).join(', ')}
      {rest > 0 ? ` ${t('more', { count: rest })}` : ''}
    </Anchor>
  );
}

type T = TFunction<'audit'>;

/** Converts `user.update` to "User changed"; unknown actions keep their stored name. */
const describeAction = (t: T, action: string): string =>
  t(`actions.${action as 'user.update'}`, { defaultValue: action });

/** Converts `user:12` to "User 12". */
function describeTarget(t: T, target: string): string {
  const at = target.indexOf(':');
  if (at < 0) return target;
  const kind = target.slice(0, at) as 'user';
  return t(`targets.${kind}`, { id: target.slice(at + 1), defaultValue: target });
}

/** Every known action with its description, as filter options. */
const listActions = (t: T): readonly { readonly value: string; readonly label: string }[] =>
  listLeaves(t('actions', { returnObjects: true }));

/** Leaves of a tree of texts, each with its path, such as `mailbox.app-password.read`. */
const listLeaves = (tree: object, path = ''): { readonly value: string; readonly label: string }[] =>
  Object.entries(tree).flatMap(([key, each]: [string, unknown]) =>
    typeof each === 'string'
      ? [{ value: `${path}${key}`, label: each }]
      : typeof each === 'object' && each !== null
        ? listLeaves(each, `${path}${key}.`)
        : [],
  );
