import { Button, Stack } from '@mantine/core';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { endSession } from '../../../contract/accounts.ts';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { Pager } from '../../components/pager.tsx';
import { SessionRow } from '../../components/session-row.tsx';
import { SettingsSection } from '../../components/settings-section.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { callApi } from '../../data/api-client.ts';
import { PAGE_SIZE, sessionsQuery } from '../../data/session-email-and-device-queries.ts';

export function SessionsSection() {
  const { t } = useTranslation('account');
  const queries = useQueryClient();
  const toasts = useToasts();
  const [page, setPage] = useState(1);
  const sessions = useQuery({ ...sessionsQuery(page), placeholderData: keepPreviousData });
  const end = useMutation({
    mutationFn: (id: number) => callApi(endSession, { params: { id: String(id) } }),
    onSuccess: async () => {
      toasts.success(t('security.ended'));
      await queries.invalidateQueries({ queryKey: ['sessions'] });
    },
  });
  return (
    <SettingsSection title={t('security.sessions')} subtitle={t('security.sessionsText')}>
      <ErrorAlert error={sessions.error ?? end.error} />
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
    </SettingsSection>
  );
}
