import { Button, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminEndSession, adminListSessions } from '../../../../contract/admin-accounts.ts';
import { ErrorAlert } from '../../../components/error-alert.tsx';
import { Pager } from '../../../components/pager.tsx';
import { Panel } from '../../../components/panel.tsx';
import { SessionRow } from '../../../components/session-row.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import type { User } from '../../../data/admin-types.ts';
import { callApi } from '../../../data/api-client.ts';
import { listQuery, useInvalidateQueries } from '../../../data/query-any-admin-endpoint.ts';

const PAGE_SIZE = 10;

/** Where a user is signed in; a browser that was lost or stolen is signed out alone. */
export function UserSessions({ user }: { readonly user: User }) {
  const { t } = useTranslation(['admin', 'account']);
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const [page, setPage] = useState(1);
  const params = { id: String(user.id) };
  const sessions = useQuery(listQuery(adminListSessions, { page: String(page), page_size: String(PAGE_SIZE) }, params));
  const end = useMutation({
    mutationFn: (id: number) => callApi(adminEndSession, { params: { ...params, session: String(id) } }),
    onSuccess: () => toasts.success(t('account:security.ended')),
    onSettled: invalidate,
  });
  return (
    <Panel title={t('account:security.sessions')}>
      <ErrorAlert error={sessions.error ?? end.error} />
      {sessions.data?.total === 0 ? (
        <Text size="sm" c="dimmed">
          {t('users.noSessions')}
        </Text>
      ) : null}
      <Stack gap="sm">
        {(sessions.data?.data ?? []).map((session) => (
          <SessionRow key={session.id} session={session}>
            {session.current ? null : (
              <Button
                size="compact-sm"
                variant="subtle"
                color="red"
                loading={end.isPending && end.variables === session.id}
                onClick={() => end.mutate(session.id)}
              >
                {t('account:security.endSession')}
              </Button>
            )}
          </SessionRow>
        ))}
      </Stack>
      <Pager page={page} total={sessions.data?.total ?? 0} pageSize={PAGE_SIZE} onChange={setPage} />
    </Panel>
  );
}
