import { Badge, Table, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { ChannelCondition } from '../../../../contract/channels.ts';
import { RelativeTime } from '../../../components/relative-time.tsx';
import type { ChannelDetail } from '../../../data/admin-types.ts';
import { ChannelStatusBadge } from './channel-status-badge.tsx';
import { toErrorReason } from './upstream-error-reason-codes.ts';

type Health = ChannelDetail['health'][number];
const FAILING_RATE = 0.5;

/** How the channel and each model on it have been doing lately. */
export function HealthTable({ health }: { readonly health: ChannelDetail['health'] }) {
  const { t } = useTranslation('admin-channels');
  if (health.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {t('health.none')}
      </Text>
    );
  return (
    <Table verticalSpacing="xs" horizontalSpacing={4} aria-label={t('channels.health')}>
      <Table.Tbody>
        {health.map(({ model, state, reason, failure_rate: rate, rests_until: until }) => (
          <Table.Tr key={model}>
            <Table.Td style={{ overflowWrap: 'anywhere' }}>{model === '' ? t('health.whole') : model}</Table.Td>
            <Table.Td>
              <ChannelStatusBadge enabled condition={toCondition(state, rate)} />
            </Table.Td>
            <Table.Td ta="right">
              <Badge color={rate > 0.5 ? 'red' : rate > 0 ? 'yellow' : 'gray'} variant="transparent">
                {t('health.rate', { percent: Math.round(rate * 100) })}
              </Badge>
              {state === 'healthy' || reason === '' || reason === 'ok' ? null : (
                <Text size="xs" c="dimmed">
                  {t(`reasons.${toErrorReason(reason)}`)}
                </Text>
              )}
              {until === 0 ? null : (
                <Text size="xs" c="dimmed">
                  {t('health.back')} <RelativeTime at={until} />
                </Text>
              )}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

/** One model's: failing calls count before there are enough of them for the circuit breaker to open. */
function toCondition(state: Health['state'], failureRate: number): ChannelCondition {
  if (state !== 'healthy') return state;
  return failureRate >= FAILING_RATE ? 'failing' : 'working';
}
