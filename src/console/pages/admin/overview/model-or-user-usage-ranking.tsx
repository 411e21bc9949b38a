import { Progress, Skeleton, Stack, Table, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { CreditAmount } from '../../../components/credit-amount.tsx';
import { Panel } from '../../../components/panel.tsx';
import { RouteLink } from '../../../components/route-link.tsx';
import { useUserNames } from '../../../data/user-and-channel-names.ts';

interface RankingRow {
  readonly model?: string;
  readonly user_id?: number;
  readonly requests: number;
  readonly quota: number;
}
interface RankingProps {
  readonly title: string;
  readonly rows: readonly RankingRow[] | undefined;
  readonly by: 'model' | 'user_id';
  readonly days: number;
}

const MAX_ROWS = 8;

/** Who or what used most. */
export function ModelOrUserUsageRanking({ title, rows, by }: RankingProps) {
  const { t } = useTranslation('admin');
  const sums = new Map<string, { requests: number; quota: number }>();
  for (const row of rows ?? []) {
    const known = sums.get(String(row[by])) ?? { requests: 0, quota: 0 };
    sums.set(String(row[by]), { requests: known.requests + row.requests, quota: known.quota + row.quota });
  }
  const ranked = [...sums].sort((one, two) => two[1].quota - one[1].quota || two[1].requests - one[1].requests);
  const names = useUserNames(by === 'user_id' ? ranked.slice(0, MAX_ROWS).map(([id]) => Number(id)) : []);
  const top = Math.max(1, ranked[0]?.[1].quota ?? 0);
  return (
    <Panel title={title}>
      {rows === undefined ? (
        <Stack gap="xs">
          <Skeleton h={24} />
          <Skeleton h={24} />
        </Stack>
      ) : null}
      {rows?.length === 0 ? (
        <Text size="sm" c="dimmed">
          {t('overview.nothing')}
        </Text>
      ) : null}
      {ranked.length === 0 ? null : (
        <Table verticalSpacing={6} aria-label={title} horizontalSpacing={4}>
          <Table.Tbody>
            {ranked.slice(0, MAX_ROWS).map(([name, { requests, quota }]) => (
              <Table.Tr key={name}>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>
                  {by === 'model' ? (
                    <RouteLink to="/admin/tasks" search={{ model: name }} size="sm">
                      {name}
                    </RouteLink>
                  ) : (
                    <RouteLink to="/admin/users/$id" params={{ id: String(name) }} size="sm">
                      {names(Number(name)) ?? t('overview.user', { id: name })}
                    </RouteLink>
                  )}
                  <Progress value={(quota / top) * 100} size={3} mt={4} aria-hidden color="gray" />
                </Table.Td>
                <Table.Td ta="right" fz="xs" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
                  {t('overview.callCount', { count: requests })}
                </Table.Td>
                <Table.Td ta="right" w={1}>
                  <CreditAmount value={quota} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </Panel>
  );
}
