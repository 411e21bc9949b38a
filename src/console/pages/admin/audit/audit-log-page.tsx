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
import { useFormatCredits } from '../../../components/credit-amount.tsx';
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
import {
  auditTargetPath,
  changedKeys,
  type FieldChange,
  recordedName,
  toFieldChanges,
  toShortText,
} from './audit-entry.ts';

const NAMESPACES = ['audit', 'admin-settings', 'app'] as const;

/** Log of changes, with the account that made each. */
export function AuditLogPage() {
  const { t } = useTranslation(NAMESPACES);
  const filters = useListFilters(['actor_id', 'organization_id', 'action', 'target'], ['time']);
  const [shown, setShown] = useState<AuditEntry>();
  const entries = useQuery(listQuery(adminListAudit, filters.query));
  const users = useUserNames(
    entries.data?.data.flatMap(({ actor_id, organization_id }) => [actor_id ?? [], organization_id ?? []].flat()),
  );
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
          { label: t('change'), cell: (entry) => <ChangedFields entry={entry} onOpen={() => setShown(entry)} /> },
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
      {shown === undefined ? null : <BeforeAndAfterDialog entry={shown} onClose={() => setShown(undefined)} />}
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
function BeforeAndAfterDialog({ entry, onClose }: { readonly entry: AuditEntry; readonly onClose: () => void }) {
  const { t } = useTranslation(NAMESPACES);
  const side = (value: unknown): Record<string, unknown> =>
    typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  return (
    <Dialog onClose={onClose} title={`${describeAction(t, entry.action)} · ${describeTarget(t, entry)}`} size="xl">
      <DataTable
        label={t('change')}
        rows={changedKeys(entry.before, entry.after)}
        rowKey={(key) => key}
        columns={[
          {
            label: t('field'),
            cell: (key) => (
              <Text size="sm" fw={600} maw={220} style={{ overflowWrap: 'anywhere' }}>
                {describeField(t, key)}
              </Text>
            ),
          },
          { label: t('before'), cell: (key) => <Value field={key} value={side(entry.before)[key]} /> },
          { label: t('after'), cell: (key) => <Value field={key} value={side(entry.after)[key]} /> },
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
function Value({ field, value }: { readonly field: string; readonly value: unknown }) {
  const toText = useValueText();
  const short = toShortText(value);
  const text =
    value === undefined
      ? '–'
      : short !== undefined
        ? toText(field, short)
        : typeof value === 'string'
          ? value
          : JSON.stringify(value, null, 1);
  return (
    <Text size="sm" style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
      {text}
    </Text>
  );
}

const MAX_FIELDS = 2;

/** Changes of an audit entry in words; a click opens all values. */
function ChangedFields({ entry, onOpen }: { readonly entry: AuditEntry; readonly onOpen: () => void }) {
  const { t } = useTranslation(NAMESPACES);
  const describe = useDescribeChange();
  const changes = toFieldChanges(entry.before, entry.after);
  if (changes.length === 0)
    return (
      <Text size="sm" c="dimmed">
        –
      </Text>
    );
  const rest = changes.length - MAX_FIELDS;
  return (
    <Anchor component="button" type="button" size="sm" ta="left" onClick={onOpen} style={{ overflowWrap: 'anywhere' }}>
      {changes.slice(0, MAX_FIELDS).map(describe).join(t('comma'))}
      {rest > 0 ? ` ${t('more', { count: rest, total: changes.length })}` : ''}
    </Anchor>
  );
}

/** Fields whose values are quota. */
const AMOUNTS: ReadonlySet<string> = new Set([
  'quota',
  'quota_delta',
  'daily_quota',
  'interval_quota',
  'weekly_quota_limit',
  'monthly_quota_limit',
  'spend_limit_amount',
]);

/** Writes the value of a field as pages show it: amounts with their unit, times and switches in words. */
function useValueText(): (field: string, text: string) => string {
  const { t } = useTranslation(NAMESPACES);
  const credits = useFormatCredits();
  return (field, text) => {
    if (text === '') return t('none');
    if (text === 'true' || text === 'false') return t(text === 'true' ? 'yes' : 'no');
    if (field === 'status') return t(`statuses.${text as 'open'}`, { defaultValue: text });
    if (AMOUNTS.has(field) && text !== '-1') return credits(Number(text));
    if (isSwitch(field) && (text === '0' || text === '1')) return t(text === '1' ? 'yes' : 'no');
    return toSnakeCase(field).endsWith('_at') && Number(text) > 0 ? formatDateTime(Number(text) / 1000) : text;
  };
}

/** Writes a change as "Priority: 0 → 5". */
function useDescribeChange(): (change: FieldChange) => string {
  const { t } = useTranslation(NAMESPACES);
  const toText = useValueText();
  return ({ field, before, after }) => {
    const name = describeField(t, field);
    if (after === undefined) return name;
    const to = toText(field, after);
    return formatLabelled(name, before === undefined ? to : `${toText(field, before)} → ${to}`);
  };
}

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
  const id = name || recordedName(before, after) || (isSetting(own) ? describeSetting(t, own) : own);
  return t(`targets.${kind}`, { id, defaultValue: target });
}

/** Converts `expires_at` to "Expires"; unknown fields keep their words. */
const describeField = (t: T, field: string): string =>
  isSetting(field)
    ? describeSetting(t, field)
    : t(`fields.${toSnakeCase(field) as 'name'}`, { defaultValue: toSnakeCase(field).replaceAll('_', ' ') });

/** Entries name some fields as the database does, others as the code does: `expires_at`, `expiresAt`. */
const toSnakeCase = (field: string): string => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const isSetting = (name: string): boolean => /^[A-Z][A-Z0-9_]+$/.test(name);
/** A setting that is on or off, and not a number of days, megabytes, credits or codes. */
const isSwitch = (name: string): boolean => isSetting(name) && !/_(DAYS|MB|QUOTA|ADDRESS)$/.test(name);
const describeSetting = (t: T, name: string): string =>
  t(`admin-settings:names.${name as 'SITE_NAME'}`, { defaultValue: name });

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
