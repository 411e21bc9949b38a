import { Button, Stack } from '@mantine/core';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { endSession } from '../../../contract/accounts.ts';
import { PAGE_SIZE, sessionsQuery } from '../../data/account.ts';
import { call } from '../../data/client.ts';
import { Failure } from '../../parts/failure.tsx';
import { useNotices } from '../../parts/notices.tsx';
import { Pager } from '../../parts/pager.tsx';
import { Section } from '../../parts/section.tsx';
import { SessionRow } from '../../parts/session-row.tsx';

export function SessionsSection() {
  const { t } = useTranslation('account');
  const queries = useQueryClient();
  const notices = useNotices();
  const [page, setPage] = useState(1);
  const sessions = useQuery({ ...sessionsQuery(page), placeholderData: keepPreviousData });
  const end = useMutation({
    mutationFn: (id: number) => call(endSession, { params: { id: String(id) } }),
    onSuccess: async () => {
      notices.done(t('security.ended'));
      await queries.invalidateQueries({ queryKey: ['sessions'] });
    },
  });
  return (
    <Section title={t('security.sessions')} lead={t('security.sessionsText')}>
      <Failure error={sessions.error ?? end.error} />
      <Stack gap="sm">
        {(sessions.data?.data ?? []).map((session) => (
          <SessionRow key={session.id} session={session}>
            {session.current ? null : (
              <Button size="compact-sm" variant="subtle" color="red" onClick={() => end.mutate(session.id)}>
                {t('security.endSession')}
              </Button>
            )}
          </SessionRow>
        ))}
      </Stack>
      <Pager page={page} total={sessions.data?.total ?? 0} pageSize={PAGE_SIZE} onChange={setPage} />
    </Section>
  );
}
