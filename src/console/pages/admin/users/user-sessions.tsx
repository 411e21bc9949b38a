import { Button, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminEndSession, adminListSessions } from '../../../../contract/account-admin.ts';
import { listQuery, useRefresh } from '../../../data/admin.ts';
import { call } from '../../../data/client.ts';
import { Failure } from '../../../parts/failure.tsx';
import { useNotices } from '../../../parts/notices.tsx';
import { Pager } from '../../../parts/pager.tsx';
import { SessionRow } from '../../../parts/session-row.tsx';
import { Panel } from '../frame/facts.tsx';
import type { User } from './user-page.tsx';

const PAGE_SIZE = 10;

/** Where a user is signed in; a browser that was lost or stolen is signed out alone. */
export function UserSessions({ user }: { readonly user: User }) {
  const { t } = useTranslation(['admin', 'account']);
  const refresh = useRefresh();
  const notices = useNotices();
  const [page, setPage] = useState(1);
  const params = { id: String(user.id) };
  const sessions = useQuery(listQuery(adminListSessions, { page: String(page), page_size: String(PAGE_SIZE) }, params));
  const end = useMutation({
    mutationFn: (id: number) => call(adminEndSession, { params: { ...params, session: String(id) } }),
    onSuccess: () => notices.done(t('account:security.ended')),
    onSettled: refresh,
  });
  return (
    <Panel title={t('account:security.sessions')}>
      <Failure error={sessions.error ?? end.error} />
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
