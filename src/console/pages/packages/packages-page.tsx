import { SimpleGrid, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { ownPackageQuery, packageCardsQuery } from '../../data/packages.ts';
import { Failure } from '../../parts/failure.tsx';
import { Page } from '../../parts/page.tsx';
import { OwnPlan } from './own-plan.tsx';
import { PlanCard } from './plan-card.tsx';
import { Redeem } from './redeem.tsx';

/** What the account has, how a code is redeemed, and what there is to be had. */
export function PackagesPage() {
  const { t } = useTranslation('packages');
  const own = useQuery(ownPackageQuery);
  const cards = useQuery(packageCardsQuery);
  return (
    <Page title={t('title')} lead={t('lead')}>
      <Stack gap="lg">
        <Failure error={own.error} retry={() => void own.refetch()} />
        {own.data === undefined ? (
          own.error === null ? (
            <Skeleton h={210} radius="lg" />
          ) : null
        ) : (
          <OwnPlan own={own.data} />
        )}
        <Redeem />
        <div>
          <Title order={2}>{t('cards')}</Title>
          <Text size="sm" c="dimmed" mb="md">
            {t('cardsLead')}
          </Text>
          <Failure error={cards.error} retry={() => void cards.refetch()} />
          {cards.data === undefined && cards.error === null ? <Skeleton h={220} radius="lg" /> : null}
          {cards.data?.length === 0 ? <Text size="sm">{t('noCards')}</Text> : null}
          <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
            {(cards.data ?? []).map((card) => (
              <PlanCard key={card.id} card={card} current={own.data} />
            ))}
          </SimpleGrid>
        </div>
      </Stack>
    </Page>
  );
}
