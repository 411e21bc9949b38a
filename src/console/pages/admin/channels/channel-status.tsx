import { Badge } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { ChannelCondition } from '../../../../contract/channels.ts';

const COLORS: Readonly<Record<ChannelCondition, string>> = {
  untested: 'gray',
  working: 'teal',
  failing: 'red',
  resting: 'red',
  trying: 'yellow',
};

interface ChannelStatusBadgeProps {
  readonly enabled: boolean;
  readonly condition: ChannelCondition;
}

/** Whether a channel is enabled, and its condition. */
export function ChannelStatusBadge({ enabled, condition }: ChannelStatusBadgeProps) {
  const { t } = useTranslation('admin-channels');
  return enabled ? (
    <Badge color={COLORS[condition]}>{t(`states.${condition}`)}</Badge>
  ) : (
    <Badge color="gray">{t('states.off')}</Badge>
  );
}

/** Whether an enabled channel needs an administrator's attention. */
export const needsAttention = ({ enabled, condition }: ChannelStatusBadgeProps): boolean =>
  enabled && condition !== 'working' && condition !== 'untested';

/** Reasons for a refusal by an upstream; each has its own remedy. */
export const ERROR_REASONS = [
  'unreachable',
  'auth',
  'billing',
  'rate',
  'capacity',
  'model',
  'user',
  'policy',
  'missing',
  'other',
] as const;
/** One of the reasons. */
export type ErrorReason = (typeof ERROR_REASONS)[number];

/** The reason of that name; `other` for unknown names. */
export const toErrorReason = (text: string): ErrorReason => ERROR_REASONS.find((reason) => reason === text) ?? 'other';
