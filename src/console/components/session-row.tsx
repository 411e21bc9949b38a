import { Badge, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { Static } from 'typebox';
import type { Session } from '../../contract/accounts.ts';
import { describeBrowser } from './describe-browser.ts';
import { RelativeTime } from './relative-time.tsx';

interface SessionRowProps {
  readonly session: Static<typeof Session>;
  /** What can be done with it. */
  readonly children?: ReactNode;
}

/** A browser session of the account, and when it was used. */
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
