import { Badge, Card, Group, List, Text, Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { formatListPrice } from '../../../contract/amounts.ts';
import { DAY_SECONDS } from '../../../contract/time-units.ts';
import { useAmountUnit, useFormatCredits } from '../../components/use-format-credits.ts';
import type { CurrentPlan, PurchasablePlan } from '../../data/plan-queries.ts';
import { currentLanguage } from '../../strings/init-and-change-language.ts';

const HOUR_SECONDS = 3600;
/** One plan as it is offered. */
export function PurchasablePlanCard({
  card: plan,
  current,
}: {
  readonly card: PurchasablePlan;
  readonly current: CurrentPlan | undefined;
}) {
  const { t } = useTranslation('plan');
  const own = current?.package_code === plan.package_code;
  const price = formatListPrice(plan.price_amount, useAmountUnit(), currentLanguage());
  return (
    <Card p="lg" component="article" aria-label={plan.name} bd={own ? '2px solid accent.7' : undefined}>
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <Title order={3} style={{ overflowWrap: 'anywhere' }}>
          {plan.name}
        </Title>
        {own ? <Badge style={{ flexShrink: 0 }}>{t('yours')}</Badge> : null}
      </Group>
      <Text mt={4}>
        <Text component="span" fz={24} fw={700}>
          {price}
        </Text>{' '}
        <Text component="span" size="sm" c="dimmed">
          {t('forDays', { count: plan.duration_days })}
        </Text>
      </Text>
      {plan.description === '' ? null : (
        <Text size="sm" c="dimmed" mt="xs" style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
          {plan.description}
        </Text>
      )}
      <Allowances card={plan} />
    </Card>
  );
}

function Allowances({ card: plan }: { readonly card: PurchasablePlan }) {
  const { t } = useTranslation('plan');
  const quota = useFormatCredits();
  const every = plan.refresh_interval_seconds;
  const period =
    every % DAY_SECONDS === 0
      ? t('everyDays', { count: every / DAY_SECONDS })
      : every % HOUR_SECONDS === 0
        ? t('everyHours', { count: every / HOUR_SECONDS })
        : t('everyMinutes', { count: Math.max(1, Math.round(every / 60)) });
  return (
    <List size="sm" mt="sm" spacing={2}>
      <List.Item>
        {every === 0
          ? t('perDay', { amount: quota(plan.daily_quota) })
          : t('perPeriod', { amount: quota(plan.interval_quota), period })}
      </List.Item>
      {plan.weekly_quota_limit === 0 ? null : (
        <List.Item>{t('perWeek', { amount: quota(plan.weekly_quota_limit) })}</List.Item>
      )}
    </List>
  );
}
