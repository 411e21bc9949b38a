import { Badge, Button, Group, Stack, Text } from '@mantine/core';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { endSession } from '../../../contract/accounts.ts';
import { PAGE_SIZE, sessionsQuery } from '../../data/account.ts';
import { call } from '../../data/client.ts';
import { Failure } from '../../parts/failure.tsx';
import { Moment } from '../../parts/moment.tsx';
import { useNotices } from '../../parts/notices.tsx';
import { Pager } from '../../parts/pager.tsx';
import { Section } from '../../parts/section.tsx';

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
          <Group key={session.id} justify="space-between" wrap="nowrap">
            <div style={{ minWidth: 0 }}>
              <Group gap="xs">
                <Text size="sm" fw={600}>
                  {toBrowser(session.user_agent)}
                </Text>
                {session.current ? <Badge>{t('security.thisSession')}</Badge> : null}
              </Group>
              <Text size="xs" c="dimmed" truncate title={session.user_agent}>
                {session.address} · {t('security.lastUsed')} <Moment at={session.last_used_time} />
              </Text>
            </div>
            {session.current ? null : (
              <Button size="compact-sm" variant="subtle" color="red" onClick={() => end.mutate(session.id)}>
                {t('security.endSession')}
              </Button>
            )}
          </Group>
        ))}
      </Stack>
      <Pager page={page} total={sessions.data?.total ?? 0} pageSize={PAGE_SIZE} onChange={setPage} />
    </Section>
  );
}

const BROWSERS = [
  [/Edg\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/Firefox\//, 'Firefox'],
  [/Chrome\//, 'Chrome'],
  [/Safari\//, 'Safari'],
] as const;
const SYSTEMS = [
  [/iPhone|iPad/, 'iOS'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS X/, 'macOS'],
  [/Linux/, 'Linux'],
] as const;

/** "Firefox, Linux": what people know it by; the whole line is there on hover. */
function toBrowser(userAgent: string): string {
  const find = (names: readonly (readonly [RegExp, string])[]) =>
    names.find(([pattern]) => pattern.test(userAgent))?.[1];
  const known = [find(BROWSERS), find(SYSTEMS)].filter((each) => each !== undefined);
  return known.length === 0 ? userAgent.slice(0, 40) || '–' : known.join(', ');
}
