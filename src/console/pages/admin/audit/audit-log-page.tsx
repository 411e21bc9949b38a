import { Anchor, Code, Select, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconHistory, IconLogin2 } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { TFunction } from 'i18next';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminListLogins } from '../../../../contract/accounts.ts';
import { adminListAudit, adminListUsers } from '../../../../contract/admin-accounts.ts';
import { DataTable, PagedTable } from '../../../components/data-table.tsx';
import { Dialog } from '../../../components/dialog.tsx';
import { ChoiceFilter, FilterBar, OrganizationFilter, UserFilter } from '../../../components/list/filter-bar.tsx';
import { type ListFilters, useListFilters } from '../../../components/list/use-list-filters.ts';
import { loginAttemptColumns } from '../../../components/login-attempts.tsx';
import { EmptyState, Page } from '../../../components/page.tsx';
import { RouteLink, UserOrChannelLink } from '../../../components/route-link.tsx';
import { SegmentedControl } from '../../../components/segmented-control.tsx';
import { type AuditEntry, listQuery, useChannels, useUserNames } from '../../../data/admin.ts';
import { formatDateTime, formatLabelled } from '../../../data/format-values.ts';
import { ModelPrice } from '../models/model-price.tsx';
import {
  accountsIn,
  auditTargetPath,
  type FieldChange,
  isSetting,
  kindOf,
  recordedName,
  toFieldChanges,
  toSnakeCase,
} from './audit-entry.ts';
import { isStructured, useValueText, type ValueText } from './value-text.ts';

const NAMESPACES = ['audit', 'admin-settings', 'app'] as const;

/** Log of changes, with the account that made each. */
export function AuditLogPage() {
  const { t } = useTranslation(NAMESPACES);
  const filters = useListFilters(['actor_id', 'organization_id', 'action', 'target'], ['time']);
  const [shown, setShown] = useState<AuditEntry>();
  const entries = useQuery(listQuery(adminListAudit, filters.query));
  const users = useUserNames(
    entries.data?.data.flatMap((entry) =>
      [entry.actor_id ?? [], entry.organization_id ?? [], accountsIn(entry)].flat(),
    ),
  );
  const toText = useValueText(users);
  return (
    <Page title={t('app:pages.audit')} subtitle={t('lead')} actions={<AuditAndLoginsTabs current="/admin/audit" />}>
      <FilterBar filters={filters}>
        <UserFilter filters={filters} name="actor_id" label={t('actor')} />
        <OrganizationFilter filters={filters} />
        <ChoiceFilter filters={filters} name="action" label={t('action')} width={260} choices={listActions(t)} />
        <TargetFilter filters={filters} entries={entries.data?.data ?? []} />
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
          { label: t('target'), cell: (entry) => <AuditTarget entry={entry} /> },
          {
            label: t('change'),
            cell: (entry) => <ChangedFields entry={entry} toText={toText} onOpen={() => setShown(entry)} />,
          },
          {
            label: t('actor'),
            cell: ({ actor_id: id }) =>
              id === null ? t('service') : <UserOrChannelLink to="users" id={id} names={users} />,
          },
          {
            label: t('app:organization'),
            cell: ({ organization_id: id }) => <UserOrChannelLink to="organizations" id={id} names={users} />,
            hideOnPhone: true,
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
      {shown === undefined ? null : (
        <BeforeAndAfterDialog entry={shown} toText={toText} onClose={() => setShown(undefined)} />
      )}
    </Page>
  );
}

const MAX_USERS = 20;

interface TargetFilterProps {
  readonly filters: ListFilters;
  /** Their targets are offered too. */
  readonly entries: readonly AuditEntry[];
}

/** Filter by target. Offers users that match the search text, all channels, and the targets of the entries shown. */
function TargetFilter({ filters, entries }: TargetFilterProps) {
  const { t } = useTranslation(NAMESPACES);
  const list = useTranslation('list');
  const [search, setSearch] = useState('');
  const [debounced] = useDebouncedValue(search.trim(), 250);
  const channels = useChannels();
  const selected = filters.value.target;
  const selectedUser = /^user:(\d+)$/.exec(selected ?? '')?.[1];
  const nameOf = useUserNames(selectedUser === undefined ? [] : [Number(selectedUser)]);
  const users = useQuery({
    ...listQuery(adminListUsers, { page_size: String(MAX_USERS), q: debounced }),
    enabled: debounced !== '',
  });
  const choices = new Map(entries.map((entry) => [entry.target, describeTarget(t, entry)]));
  const add = (target: string, name: string | undefined): void => {
    if (!choices.has(target)) choices.set(target, describeTarget(t, { target, target_name: name ?? '' }));
  };
  for (const { id, name } of channels) add(`channel:${id}`, name);
  for (const { id, username } of users.data?.data ?? []) add(`user:${id}`, username);
  if (selected !== undefined) add(selected, selectedUser === undefined ? '' : nameOf(Number(selectedUser)));
  return (
    <Select
      label={t('target')}
      placeholder={list.t('any')}
      w={{ base: '100%', xs: 220 }}
      data={[...choices].map(([value, label]) => ({ value, label }))}
      value={selected ?? null}
      onChange={(value) => filters.set('target', value ?? undefined)}
      onSearchChange={(text) => setSearch(text === choices.get(selected ?? '') ? '' : text)}
      searchable
      clearable
      clearButtonProps={{ 'aria-label': t('target'), tabIndex: -1 }}
    />
  );
}

/** Name of an action in words, with the stored name, by which programs filter. */
function AuditAction({ action }: { readonly action: string }) {
  const { t } = useTranslation(NAMESPACES);
  return (
    <Text size="sm" title={action}>
      {describeAction(t, action)}
    </Text>
  );
}

function AuditTarget({ entry }: { readonly entry: AuditEntry }) {
  const { t } = useTranslation(NAMESPACES);
  const path = auditTargetPath(entry.target);
  return path === undefined ? (
    <Text size="sm" miw={110} title={entry.target} style={{ overflowWrap: 'anywhere' }}>
      {describeTarget(t, entry)}
    </Text>
  ) : (
    <RouteLink
      to={path}
      size="sm"
      miw={110}
      title={entry.target}
      display="inline-block"
      style={{ overflowWrap: 'anywhere' }}
    >
      {describeTarget(t, entry)}
    </RouteLink>
  );
}

/** Values before and after a change, side by side. */
interface BeforeAndAfterProps {
  readonly entry: AuditEntry;
  readonly toText: ValueText;
  readonly onClose: () => void;
}

function BeforeAndAfterDialog({ entry, toText, onClose }: BeforeAndAfterProps) {
  const { t } = useTranslation(NAMESPACES);
  return (
    <Dialog onClose={onClose} title={`${describeAction(t, entry.action)} · ${describeTarget(t, entry)}`} size="xl">
      <DataTable
        label={t('change')}
        rows={toFieldChanges(entry)}
        rowKey={({ field }) => field}
        columns={[
          {
            label: t('field'),
            cell: ({ field }) => (
              <Text size="sm" fw={600} maw={220} style={{ overflowWrap: 'anywhere' }}>
                {describeField(t, kindOf(entry.action), field)}
              </Text>
            ),
          },
          { label: t('before'), cell: ({ field, before }) => <Value field={field} value={before} toText={toText} /> },
          { label: t('after'), cell: ({ field, after }) => <Value field={field} value={after} toText={toText} /> },
        ]}
      />
      <Text size="xs" c="dimmed" mt="md">
        {t('action')} <Code>{entry.action}</Code> · {t('target')} <Code>{entry.target}</Code> · {t('request')}{' '}
        <Code>{entry.request_id || '–'}</Code>
      </Text>
    </Dialog>
  );
}

/** A value in words as in the list, or completely if it is too long for that. */
function Value({
  field,
  value,
  toText,
}: {
  readonly field: string;
  readonly value: unknown;
  readonly toText: ValueText;
}) {
  if (value === undefined) return '–';
  if (field === 'price' && typeof value === 'object') return <ModelPrice price={value} />;
  return (
    <Text size="sm" style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
      {toText(field, value)}
    </Text>
  );
}

const MAX_FIELDS = 2;

interface ChangedFieldsProps {
  readonly entry: AuditEntry;
  readonly toText: ValueText;
  readonly onOpen: () => void;
}

/** Changes of an audit entry in words; a click opens all values. */
function ChangedFields({ entry, toText, onOpen }: ChangedFieldsProps) {
  const { t } = useTranslation(NAMESPACES);
  const changes = toFieldChanges(entry);
  if (changes.length === 0)
    return (
      <Text size="sm" c="dimmed">
        –
      </Text>
    );
  const rest = changes.length - MAX_FIELDS;
  return (
    <Anchor component="button" type="button" size="sm" ta="left" onClick={onOpen} style={{ overflowWrap: 'anywhere' }}>
      {changes
        .slice(0, MAX_FIELDS)
        .map((change) => describeChange(t, toText, kindOf(entry.action), change))
        .join(t('comma'))}
      {rest > 0 ? ` ${t('more', { count: rest, total: changes.length })}` : ''}
    </Anchor>
  );
}

/** Longer values are in the dialog only. */
const MAX_VALUE_LENGTH = 40;

/** Writes a change as "Priority: 0 → 5". */
function describeChange(t: T, toText: ValueText, kind: string, { field, before, after }: FieldChange): string {
  const name = describeField(t, kind, field);
  // What the service stores as an object without words for it would be JSON.
  if ([before, after].some((value) => isStructured(field, value))) return name;
  const [from, to] = [toText(field, before), toText(field, after)];
  if (Math.max(from.length, to.length) > MAX_VALUE_LENGTH) return name;
  const value = after === undefined ? from : isUnset(before) ? to : `${from} → ${to}`;
  // The setting is the target, which its own column names.
  return isSetting(field) ? value : formatLabelled(name, value);
}

const isUnset = (value: unknown): boolean => value === undefined || value === null || value === '';

type T = TFunction<typeof NAMESPACES>;

/** Converts `user.update` to "User changed"; unknown actions keep their stored name. */
const describeAction = (t: T, action: string): string =>
  t(`actions.${action as 'user.update'}`, { defaultValue: action });

type NamedTarget = Pick<AuditEntry, 'target' | 'target_name'> & Partial<Pick<AuditEntry, 'before' | 'after'>>;

/** Converts `user:12` to "User ada", or to "User 12" if the target never had a name. */
function describeTarget(t: T, { target, target_name: name, before, after }: NamedTarget): string {
  const at = target.indexOf(':');
  if (at < 0) return target;
  const kind = target.slice(0, at) as 'user';
  const own = target.slice(at + 1);
  const id = name || recordedName(kind, before, after) || (isSetting(own) ? describeSetting(t, own) : own);
  return t(`targets.${kind}`, { id, defaultValue: target });
}

/** Converts `expires_at` to "Expires"; unknown fields keep their words. */
const describeField = (t: T, kind: string, field: string): string => {
  if (isSetting(field)) return describeSetting(t, field);
  const name = toSnakeCase(field);
  return t([`fields.${kind}_${name as 'name'}`, `fields.${name as 'name'}`], {
    defaultValue: name.replaceAll('_', ' '),
  });
};

const describeSetting = (t: T, name: string): string =>
  t([`admin-settings:names.${name as 'SITE_NAME'}`, `fields.${name as 'name'}`], { defaultValue: name });

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

/** Successful and failed sign-ins of all accounts. */
export function LoginHistoryPage() {
  const { t } = useTranslation('account');
  const filters = useListFilters(['user_id', 'failed'], ['time']);
  const logins = useQuery(listQuery(adminListLogins, filters.query));
  const users = useUserNames(logins.data?.data.map(({ user_id: id }) => id));
  return (
    <Page
      title={t('loginHistory.title')}
      subtitle={t('loginHistory.lead')}
      actions={<AuditAndLoginsTabs current="/admin/logins" />}
    >
      <FilterBar filters={filters}>
        <UserFilter filters={filters} />
        <ChoiceFilter
          filters={filters}
          name="failed"
          label={t('loginHistory.outcome')}
          width={210}
          choices={[{ value: 'true', label: t('loginHistory.onlyFailed') }]}
        />
      </FilterBar>
      <PagedTable
        label={t('loginHistory.title')}
        query={logins}
        filters={filters}
        rowKey={({ id }) => id}
        emptyState={<EmptyState icon={<IconLogin2 size={28} />} title={t('loginHistory.none')} />}
        columns={[
          {
            label: t('loginHistory.user'),
            cell: ({ user_id: id }) => <UserOrChannelLink to="users" id={id} names={users} />,
          },
          ...loginAttemptColumns(t),
        ]}
      />
    </Page>
  );
}

type RecordsPath = '/admin/audit' | '/admin/logins';

/**
 * Switches between the log of changes and the sign-in history, which is separate because it is large and contains IP
 * addresses.
 */
function AuditAndLoginsTabs({ current }: { readonly current: RecordsPath }) {
  const { t } = useTranslation('account');
  const navigate = useNavigate();
  return (
    <SegmentedControl
      aria-label={t('loginHistory.views')}
      value={current}
      onChange={(to) => void navigate({ to: to as RecordsPath })}
      data={[
        { value: '/admin/audit', label: t('loginHistory.changes') },
        { value: '/admin/logins', label: t('loginHistory.tab') },
      ]}
    />
  );
}
