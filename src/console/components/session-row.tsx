import { Badge, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { Static } from 'typebox';
import type { Session } from '../../contract/accounts.ts';
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

/** "Firefox, Linux": the short name users recognize; the full user agent is shown on hover. */
function describeBrowser(userAgent: string): string {
  const find = (names: readonly (readonly [RegExp, string])[]) =>
    names.find(([pattern]) => pattern.test(userAgent))?.[1];
  const known = [find(BROWSERS), find(SYSTEMS)].filter((each) => each !== undefined);
  return known.length === 0 ? userAgent.slice(0, 40) || '–' : known.join(', ');
}
