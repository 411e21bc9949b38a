import { SimpleGrid, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { Page } from '../../components/page.tsx';
import { currentPlanQuery, purchasablePlansQuery } from '../../data/plan-queries.ts';
import { CurrentPlanSection } from './current-plan.tsx';
import { PurchasablePlanCard } from './purchasable-plan-card.tsx';
import { RedeemCode } from './redeem-code.tsx';

/** What the account has, how a code is redeemed, and what there is to be had. */
export function OwnPlanPage() {
  const { t } = useTranslation('plan');
  const own = useQuery(currentPlanQuery);
  const cards = useQuery(purchasablePlansQuery);
  return (
    <Page title={t('title')} subtitle={t('lead')}>
      <Stack gap="lg">
        <ErrorAlert error={own.error} retry={() => void own.refetch()} />
        {own.data === undefined ? (
          own.error === null ? (
            <Skeleton h={210} radius="lg" />
          ) : null
        ) : (
          <CurrentPlanSection own={own.data} />
        )}
        <RedeemCode />
        <div>
          <Title order={2}>{t('cards')}</Title>
          <Text size="sm" c="dimmed" mb="md">
            {t('cardsLead')}
          </Text>
          <ErrorAlert error={cards.error} retry={() => void cards.refetch()} />
          {cards.data === undefined && cards.error === null ? <Skeleton h={220} radius="lg" /> : null}
          {cards.data?.length === 0 ? <Text size="sm">{t('noCards')}</Text> : null}
          <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
            {(cards.data ?? []).map((card) => (
              <PurchasablePlanCard key={card.id} card={card} current={own.data} />
            ))}
          </SimpleGrid>
        </div>
      </Stack>
    </Page>
  );
}
