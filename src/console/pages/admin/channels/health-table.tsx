import { Badge, Table, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Moment } from '../../../parts/moment.tsx';
import type { ChannelDetail } from './channel-page.tsx';
import { ChannelState } from './channel-state.tsx';
import { toReason } from './reasons.ts';

/** How the channel and each model on it have been doing lately. */
export function HealthTable({ health }: { readonly health: ChannelDetail['health'] }) {
  const { t } = useTranslation('upstreams');
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
              <ChannelState enabled state={state} />
            </Table.Td>
            <Table.Td ta="right">
              <Badge color={rate > 0.5 ? 'red' : rate > 0 ? 'yellow' : 'gray'} variant="transparent">
                {t('health.rate', { percent: Math.round(rate * 100) })}
              </Badge>
              {state === 'healthy' || reason === '' || reason === 'ok' ? null : (
                <Text size="xs" c="dimmed">
                  {t(`reasons.${toReason(reason)}`)}
                </Text>
              )}
              {until === 0 ? null : (
                <Text size="xs" c="dimmed">
                  {t('health.back')} <Moment at={until} />
                </Text>
              )}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
