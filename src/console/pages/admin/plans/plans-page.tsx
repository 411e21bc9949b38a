import { Badge, Code, Group, Text } from '@mantine/core';
import { IconCreditCard, IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { adminListCards } from '../../../../contract/packages.ts';
import { listQuery, type RowOf } from '../../../data/admin.ts';
import { Empty } from '../../../parts/empty.tsx';
import { Page } from '../../../parts/page.tsx';
import { useQuota } from '../../../parts/quota.tsx';
import { useFilters } from '../frame/filters.ts';
import { RecordList } from '../frame/record-list.tsx';
import { ToButton, ToLink } from '../frame/to-link.tsx';

type CardRow = RowOf<typeof adminListCards>;
const HOUR_SECONDS = 3600;

/** What codes can be made for. */
export function PlansPage() {
  const { t } = useTranslation(['plans', 'shell']);
  const filters = useFilters([]);
  const cards = useQuery(listQuery(adminListCards, filters.query));
  const make = (
    <ToButton to="/admin/packages/new" leftSection={<IconPlus size={16} />}>
      {t('cards.make')}
    </ToButton>
  );
  return (
    <Page title={t('shell:pages.adminPackages')} lead={t('cards.lead')} size="xl" actions={make}>
      <RecordList
        label={t('shell:pages.adminPackages')}
        query={cards}
        filters={filters}
        keyOf={({ id }) => id}
        empty={
          <Empty icon={<IconCreditCard size={28} />} title={t('cards.emptyTitle')} action={make}>
            {t('cards.emptyText')}
          </Empty>
        }
        columns={[
          {
            label: t('cards.name'),
            cell: ({ id, name, package_code: code }) => (
              <>
                <ToLink to={`/admin/packages/${id}`} fw={600} size="sm" style={{ overflowWrap: 'anywhere' }}>
                  {name}
                </ToLink>
                <div>
                  <Code>{code}</Code>
                </div>
              </>
            ),
          },
          { label: t('cards.level'), align: 'right', cell: ({ level }) => level },
          { label: t('cards.allowance'), cell: (card) => <Allowance card={card} /> },
          { label: t('cards.duration'), cell: ({ duration_days: count }) => t('cards.days', { count }), wide: true },
          { label: t('cards.price'), align: 'right', cell: ({ price_amount: price }) => price },
          { label: t('cards.enabled'), align: 'right', cell: (card) => <State card={card} /> },
        ]}
      />
    </Page>
  );
}

function Allowance({ card }: { readonly card: CardRow }) {
  const { t } = useTranslation('plans');
  const quota = useQuota();
  const hours = card.refresh_interval_seconds / HOUR_SECONDS;
  return (
    <>
      <Text size="sm">
        {hours === 0
          ? t('cards.perDay', { amount: quota(card.daily_quota) })
          : t('cards.perHours', { amount: quota(card.interval_quota), count: Number(hours.toFixed(2)) })}
      </Text>
      {card.weekly_quota_limit === 0 ? null : (
        <Text size="xs" c="dimmed">
          {t('cards.perWeek', { amount: quota(card.weekly_quota_limit) })}
        </Text>
      )}
    </>
  );
}

function State({ card }: { readonly card: CardRow }) {
  const { t } = useTranslation('plans');
  return (
    <Group gap={4} justify="flex-end">
      {card.purchasable ? null : <Badge color="gray">{t('cards.hidden')}</Badge>}
      <Badge color={card.status === 1 ? 'teal' : 'red'}>{card.status === 1 ? t('cards.on') : t('cards.off')}</Badge>
    </Group>
  );
}
