import { Badge, Group, Text } from '@mantine/core';
import type { TFunction } from 'i18next';
import type { LoginAttempt } from '../../contract/logins.ts';
import { formatDateTime } from '../data/format-times-and-durations.ts';
import type { Column } from './data-table.tsx';
import { describeBrowser } from './describe-browser.ts';

/** The columns of a list of logins, beside the account's. */
export const loginAttemptColumns = (t: TFunction<'login-history'>): readonly Column<LoginAttempt>[] => [
  { label: t('outcome'), cell: (attempt) => <Outcome attempt={attempt} t={t} /> },
  {
    label: t('browser'),
    cell: ({ user_agent: userAgent }) => (
      <Text size="sm" title={userAgent} style={{ overflowWrap: 'anywhere' }}>
        {describeBrowser(userAgent)}
      </Text>
    ),
  },
  { label: t('address'), cell: ({ address }) => address || '–' },
  {
    label: t('time'),
    sortKey: 'time',
    cell: ({ created_time: at }) => (
      <Text size="sm" style={{ whiteSpace: 'nowrap' }}>
        {formatDateTime(at)}
      </Text>
    ),
  },
];

function Outcome({ attempt, t }: { readonly attempt: LoginAttempt; readonly t: TFunction<'login-history'> }) {
  const { outcome, two_step: twoStep, known_source: isKnown } = attempt;
  return (
    <Group gap={6}>
      <Badge color={outcome === 'success' ? 'teal' : 'red'}>{t(`outcomes.${outcome}`)}</Badge>
      {isKnown ? null : <Badge color="yellow">{t('newSource')}</Badge>}
      {twoStep ? <Badge color="gray">{t('twoStep')}</Badge> : null}
    </Group>
  );
}
