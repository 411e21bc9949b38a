import { Code, Paper, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { DAY_MS } from '../../../contract/time-units.ts';
import { useFormatCredits } from '../../components/credit-amount.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { SpendLimitText } from '../../components/limit-fields.tsx';
import { Page } from '../../components/page.tsx';
import { DescriptionList, Panel } from '../../components/panel.tsx';
import { RouteButton, RouteLink, useRouteId } from '../../components/route-link.tsx';
import { LazyUsageChart, useTitledUsage } from '../../components/usage-panel.tsx';
import { type CostRow, costsQuery, performanceQuery } from '../../data/costs.ts';
import {
  formatCount,
  formatDate,
  formatMilliseconds,
  formatNames,
  formatPercent,
  formatRelativeTime,
} from '../../data/format-values.ts';
import { apiKeyQuery } from '../../data/keys.ts';
import { requestsQuery } from '../../data/requests.ts';
import { useModelTitle } from '../../data/self.ts';
import { BudgetSection } from '../costs/budget-section.tsx';
import { dayCountOf, toDayRange } from '../costs/group-costs.ts';
import { useOwnRequestColumns } from '../requests/request-columns.tsx';
import { OldSecrets } from './rotate-key.tsx';

const RECENT = 10;

/** One API key: performance and cost of its calls, its budget, and its newest calls. */
export function ApiKeyPage() {
  const { t } = useTranslation(['account', 'costs', 'app']);
  const id = useRouteId();
  const key = useQuery(apiKeyQuery(Number(id)));
  const requests = useQuery(requestsQuery('own', { token_id: id }, undefined));
  const columns = useOwnRequestColumns();
  return (
    <Page
      title={key.data?.name ?? t('apiKeys.one')}
      subtitle={<RouteLink to="/account/tokens">{t('apiKeys.title')}</RouteLink>}
      actions={
        <RouteButton to="/account/requests" search={{ token_id: Number(id) }} variant="default">
          {t('apiKeys.allRequests')}
        </RouteButton>
      }
    >
      <Stack>
        <ErrorAlert error={key.error ?? requests.error} retry={() => void key.refetch()} />
        <KeyFacts id={id} />
        <KeyFigures id={id} />
        <BudgetSection tokenId={Number(id)} />
        <Panel title={t('apiKeys.recent')}>
          {requests.data?.data.length === 0 ? (
            <Text size="sm" c="dimmed">
              {t('apiKeys.noRequests')}
            </Text>
          ) : (
            <DataTable
              label={t('apiKeys.recent')}
              columns={columns}
              rows={requests.data?.data.slice(0, RECENT)}
              rowKey={({ ref }) => ref}
            />
          )}
        </Panel>
      </Stack>
    </Page>
  );
}

function KeyFacts({ id }: { readonly id: string }) {
  const titleOf = useModelTitle();
  const { t } = useTranslation(['account', 'app']);
  const credits = useFormatCredits();
  const { data: key } = useQuery(apiKeyQuery(Number(id)));
  if (key === undefined) return <Skeleton h={90} radius="lg" />;
  const { quota_limit: limit, quota_used: used, last_used_time: usedAt, expires_at: expires } = key;
  return (
    <Panel title={t('apiKeys.facts')}>
      <DescriptionList
        facts={[
          ...(key.created_by === '' ? [] : [[t('app:member'), key.created_by] as const]),
          [
            t('apiKeys.key'),
            <Stack key="hint" gap={4} align="flex-start">
              <Code>{key.key_hint}…</Code>
              <OldSecrets apiKey={key} />
            </Stack>,
          ],
          [
            t('apiKeys.limit'),
            limit === null
              ? t('apiKeys.noLimit')
              : t('apiKeys.ofLimit', { used: credits(used), limit: credits(limit) }),
          ],
          [
            t('app:spendLimit.label'),
            key.spend_limit === null ? (
              t('app:spendLimit.none')
            ) : (
              <SpendLimitText key="spend" limit={key.spend_limit} />
            ),
          ],
          [t('apiKeys.expires'), expires === null ? t('apiKeys.never') : formatDate(expires)],
          [t('apiKeys.used'), usedAt === null ? t('apiKeys.notUsed') : formatRelativeTime(usedAt)],
          [
            t('apiKeys.models'),
            key.models.length === 0 ? t('apiKeys.allModels') : formatNames(key.models.map(titleOf)),
          ],
        ]}
      />
    </Panel>
  );
}

const NO_USAGE: readonly CostRow[] = [];

/** Success rate, duration and cost over thirty days. */
function KeyFigures({ id }: { readonly id: string }) {
  const { t } = useTranslation(['costs', 'account']);
  const credits = useFormatCredits();
  const nowMs = useMemo(() => Math.floor(Date.now() / 60_000) * 60_000, []);
  const range = toDayRange({}, nowMs);
  const filter = { token_id: id };
  const costs = useQuery(costsQuery('own', range, 'day,model', filter));
  const performance = useQuery(performanceQuery('own', range, 'token', filter));
  const usage = useTitledUsage(costs.data?.rows ?? NO_USAGE);
  const figures = performance.data?.[0];
  const ms = (value: number | null | undefined): string => (value == null ? '–' : formatMilliseconds(value));
  const cards = [
    [t('cost'), costs.data === undefined ? '' : credits(costs.data.total.quota)],
    [t('calls'), costs.data === undefined ? '' : formatCount(figures?.requests ?? 0)],
    [t('success'), figures === undefined ? '–' : formatPercent(figures.success_rate)],
    [t('latency'), `${ms(figures?.p50_ms)} / ${ms(figures?.p95_ms)}`],
    [t('firstToken'), `${ms(figures?.first_token_p50_ms)} / ${ms(figures?.first_token_p95_ms)}`],
  ] as const;
  return (
    <Panel title={t('account:apiKeys.thirtyDays')}>
      <SimpleGrid cols={{ base: 2, sm: 3, lg: 5 }} mb="md">
        {cards.map(([label, value]) => (
          <Paper key={label} withBorder p="sm">
            <Text size="xs" c="dimmed">
              {label}
            </Text>
            <Text fw={650} style={{ fontVariantNumeric: 'tabular-nums' }}>
              {value}
            </Text>
          </Paper>
        ))}
      </SimpleGrid>
      {usage.length > 0 ? (
        <LazyUsageChart rows={usage} measure="quota" days={dayCountOf(range)} nowMs={range.toDay * DAY_MS} />
      ) : null}
    </Panel>
  );
}
