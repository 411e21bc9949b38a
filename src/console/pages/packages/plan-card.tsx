import { Badge, Card, Group, List, Text, Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { OwnPackage, PackageCard } from '../../data/packages.ts';
import { useQuota } from '../../parts/quota.tsx';
import { currentLanguage } from '../../strings/language.ts';

const HOUR = 3600;
const DAY = 86_400;

/** One plan as it is offered. */
export function PlanCard({ card, current }: { readonly card: PackageCard; readonly current: OwnPackage | undefined }) {
  const { t } = useTranslation('packages');
  const own = current?.package_code === card.package_code;
  const price = new Intl.NumberFormat(currentLanguage(), { maximumFractionDigits: 2 }).format(card.price_amount);
  return (
    <Card p="lg" component="article" aria-label={card.name} {...(own ? { bd: '2px solid ember.7' } : {})}>
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <Title order={3} style={{ overflowWrap: 'anywhere' }}>
          {card.name}
        </Title>
        {own ? <Badge style={{ flexShrink: 0 }}>{t('yours')}</Badge> : null}
      </Group>
      <Text mt={4}>
        <Text component="span" fz={24} fw={700}>
          {price}
        </Text>{' '}
        <Text component="span" size="sm" c="dimmed">
          {t('forDays', { count: card.duration_days })}
        </Text>
      </Text>
      {card.description === '' ? null : (
        <Text size="sm" c="dimmed" mt="xs" style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
          {card.description}
        </Text>
      )}
      <Allowances card={card} />
    </Card>
  );
}

function Allowances({ card }: { readonly card: PackageCard }) {
  const { t } = useTranslation('packages');
  const quota = useQuota();
  const every = card.refresh_interval_seconds;
  const period =
    every % DAY === 0
      ? t('everyDays', { count: every / DAY })
      : every % HOUR === 0
        ? t('everyHours', { count: every / HOUR })
        : t('everyMinutes', { count: Math.max(1, Math.round(every / 60)) });
  return (
    <List size="sm" mt="sm" spacing={2}>
      <List.Item>
        {every === 0
          ? t('perDay', { amount: quota(card.daily_quota) })
          : t('perPeriod', { amount: quota(card.interval_quota), period })}
      </List.Item>
      {card.weekly_quota_limit === 0 ? null : (
        <List.Item>{t('perWeek', { amount: quota(card.weekly_quota_limit) })}</List.Item>
      )}
    </List>
  );
}
