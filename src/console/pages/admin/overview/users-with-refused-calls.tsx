import { Table, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Panel } from '../../../components/panel.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { RouteLink } from '../../../components/route-link.tsx';
import type operationStrings from '../../../strings/en/admin-service-status.ts';
import type { OperationState } from './service-status.tsx';

type BlockReason = keyof typeof operationStrings.reasons;

/** Whose calls were refused in the last day, and why. */
export function UsersWithRefusedCalls({ blocked }: { readonly blocked: OperationState['blocked'] | undefined }) {
  const { t } = useTranslation('admin-service-status');
  return (
    <Panel title={t('blocked')}>
      {blocked?.length === 0 ? (
        <Text size="sm" c="dimmed">
          {t('nobodyBlocked')}
        </Text>
      ) : null}
      {blocked === undefined || blocked.length === 0 ? null : (
        <Table verticalSpacing={6} horizontalSpacing={4} aria-label={t('blocked')}>
          <Table.Tbody>
            {blocked.map((row) => (
              <Table.Tr key={`${row.user_id} ${row.error_code}`}>
                <Table.Td>
                  <RouteLink to="/admin/users/$id" params={{ id: String(row.user_id) }} size="sm">
                    {row.username}
                  </RouteLink>
                  <Text size="xs" c="dimmed">
                    {t(`reasons.${row.error_code as BlockReason}`, { defaultValue: row.error_code })}
                  </Text>
                </Table.Td>
                <Table.Td ta="right">
                  <RouteLink to="/admin/requests" search={{ user_id: row.user_id, status: 'failed' }} size="sm">
                    {t('refused', { count: row.requests })}
                  </RouteLink>
                  <Text size="xs" c="dimmed">
                    <RelativeTime at={row.last_time} />
                  </Text>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </Panel>
  );
}
