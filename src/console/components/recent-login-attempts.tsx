import { Button, Switch, Text } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { adminListLogins, listLogins } from '../../contract/logins.ts';
import { defined } from '../../contract/objects.ts';
import { callApi } from '../data/api-client.ts';
import { DataTable } from './data-table.tsx';
import { ErrorAlert } from './error-alert.tsx';
import { useListFilters } from './list/use-list-filters.ts';
import { loginAttemptColumns } from './login-attempt-columns.tsx';

const PAGE_SIZE = 10;

/** The newest logins of one account, more on request. @param userId an account the caller manages; absent: the own one */
export function RecentLoginAttempts({ userId }: { readonly userId?: number }) {
  const { t } = useTranslation(['login-history', 'app']);
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
        label={t('onlyFailed')}
        checked={onlyFailed}
        onChange={(event) => filters.set('failed', event.currentTarget.checked ? 'true' : undefined)}
      />
      <ErrorAlert error={logins.error} retry={() => void logins.refetch()} />
      {rows?.length === 0 ? (
        <Text size="sm" c="dimmed" role="status">
          {t('none')}
        </Text>
      ) : logins.error === null ? (
        <DataTable label={t('attempts')} columns={loginAttemptColumns(t)} rows={rows} rowKey={({ id }) => id} />
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
