import { Badge, Button, Group, Switch, Text } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import type { TFunction } from 'i18next';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { Static } from 'typebox';
import { adminListLogins, type LoginAttempt, listLogins, type Session } from '../../contract/accounts.ts';
import { defined } from '../../contract/objects.ts';
import { callApi } from '../data/api-client.ts';
import { formatDateTime } from '../data/format-values.ts';
import { type Column, DataTable } from './data-table.tsx';
import { describeBrowser } from './describe-browser.ts';
import { QueryError } from './error-alert.tsx';
import { useListFilters } from './list/use-list-filters.ts';
import { RelativeTime } from './relative-time.tsx';

const PAGE_SIZE = 10;

/**
 * The newest sign-ins of an account, with more on request. @param userId an account the caller manages; undefined: the
 * caller's own
 */
export function RecentLoginAttempts({ userId }: { readonly userId?: number }) {
  const { t } = useTranslation(['account', 'app']);
  const filters = useListFilters(['failed']);
  const onlyFailed = filters.value.failed === 'true';
  const logins = useInfiniteQuery({
    queryKey: ['logins', userId, onlyFailed],
    queryFn: ({ pageParam, signal }) => {
      const failed = onlyFailed ? ('true' as const) : undefined;
      const query = defined({ page_size: String(PAGE_SIZE), failed, after: pageParam });
      return userId === undefined
        ? callApi(listLogins, { query }, { signal })
        : callApi(adminListLogins, { query: { ...query, user_id: String(userId) } }, { signal });
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
  });
  const rows = logins.data?.pages.flatMap(({ data }) => data);
  return (
    <>
      <Switch
        mb="sm"
        label={t('loginHistory.onlyFailed')}
        checked={onlyFailed}
        onChange={(event) => filters.set('failed', event.currentTarget.checked ? 'true' : undefined)}
      />
      <QueryError query={logins} />
      {rows?.length === 0 ? (
        <Text size="sm" c="dimmed" role="status">
          {t('loginHistory.none')}
        </Text>
      ) : logins.error === null ? (
        <DataTable
          label={t('loginHistory.attempts')}
          columns={loginAttemptColumns(t)}
          rows={rows}
          rowKey={({ id }) => id}
        />
      ) : null}
      {logins.hasNextPage ? (
        <Button
          mt="sm"
          variant="default"
          size="compact-sm"
          loading={logins.isFetchingNextPage}
          onClick={() => void logins.fetchNextPage()}
        >
          {t('app:more')}
        </Button>
      ) : null}
    </>
  );
}

/** Columns of a list of sign-ins, without the account. */
export const loginAttemptColumns = (t: TFunction<'account'>): readonly Column<LoginAttempt>[] => [
  { label: t('loginHistory.outcome'), cell: (attempt) => <Outcome attempt={attempt} t={t} /> },
  {
    label: t('loginHistory.browser'),
    cell: ({ user_agent: userAgent }) => (
      <Text size="sm" title={userAgent} style={{ overflowWrap: 'anywhere' }}>
        {describeBrowser(userAgent)}
      </Text>
    ),
  },
  { label: t('loginHistory.address'), cell: ({ address }) => address || '–' },
  {
    label: t('loginHistory.time'),
    sortKey: 'time',
    cell: ({ created_time: at }) => (
      <Text size="sm" style={{ whiteSpace: 'nowrap' }}>
        {formatDateTime(at)}
      </Text>
    ),
  },
];

function Outcome({ attempt, t }: { readonly attempt: LoginAttempt; readonly t: TFunction<'account'> }) {
  const { outcome, two_step: twoStep, known_source: isKnown } = attempt;
  return (
    <Group gap={6}>
      <Badge color={outcome === 'success' ? 'teal' : 'red'}>{t(`loginHistory.outcomes.${outcome}`)}</Badge>
      {isKnown ? null : <Badge color="yellow">{t('loginHistory.newSource')}</Badge>}
      {twoStep ? <Badge color="gray">{t('loginHistory.twoStep')}</Badge> : null}
    </Group>
  );
}

interface SessionRowProps {
  readonly session: Static<typeof Session>;
  /** Actions for the session. */
  readonly children?: ReactNode;
}

/** A browser session of the account, with the time of its last use. */
export function SessionRow({ session, children }: SessionRowProps) {
  const { t } = useTranslation('account');
  return (
    <Group justify="space-between" wrap="nowrap">
      <div style={{ minWidth: 0 }}>
        <Group gap="xs">
          <Text size="sm" fw={600}>
            {describeBrowser(session.user_agent)}
          </Text>
          {session.current ? <Badge>{t('security.thisSession')}</Badge> : null}
        </Group>
        <Text size="xs" c="dimmed" truncate title={session.user_agent}>
          {session.address} · {t('security.lastUsed')} <RelativeTime at={session.last_used_time} />
        </Text>
      </div>
      {children}
    </Group>
  );
}
