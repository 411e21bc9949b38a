import {
  Alert,
  Badge,
  Button,
  Card,
  Group,
  List,
  Progress,
  SimpleGrid,
  Skeleton,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { IconCheck } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { formatListPrice } from '../../../contract/amounts.ts';
import type { EndpointPart } from '../../../contract/endpoint.ts';
import { NO_PACKAGE, redeemCode } from '../../../contract/plans.ts';
import { DAY_SECONDS } from '../../../contract/time-units.ts';
import { CreditAmount, useAmountUnit, useFormatCredits } from '../../components/credit-amount.tsx';
import { ErrorAlert, QueryError } from '../../components/error-alert.tsx';
import { Page } from '../../components/page.tsx';
import { SettingsSection } from '../../components/panel.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { RouteButton } from '../../components/route-link.tsx';
import { callApi } from '../../data/api-client.ts';
import { formatColon, formatDate, formatDeadline } from '../../data/format-values.ts';
import {
  type CurrentPlan,
  currentPlanQuery,
  isAdmin,
  type PurchasablePlan,
  purchasablePlansQuery,
  refetchPlanAndCredits,
  useModelTitle,
  useSelf,
} from '../../data/self.ts';
import { currentLanguage } from '../../strings/language.ts';

/** The account's subscription, code redemption, and the plans on offer. */
export function OwnPlanPage() {
  const { t } = useTranslation('costs');
  const own = useQuery(currentPlanQuery);
  const cards = useQuery(purchasablePlansQuery);
  return (
    <Page title={t('plan.title')} subtitle={t('plan.lead')}>
      <Stack gap="lg">
        <QueryError query={own} />
        {own.data === undefined ? (
          own.error === null ? (
            <Skeleton h={210} radius="lg" />
          ) : null
        ) : (
          <CurrentPlanSection own={own.data} />
        )}
        <RedeemCode />
        <div>
          <Title order={2}>{t('plan.cards')}</Title>
          {cards.data?.length === 0 ? null : (
            <Text size="sm" c="dimmed" mb="md">
              {t('plan.cardsLead')}
            </Text>
          )}
          <QueryError query={cards} />
          {cards.data === undefined && cards.error === null ? <Skeleton h={220} radius="lg" /> : null}
          {cards.data?.length === 0 ? <Text size="sm">{t('plan.noCards')}</Text> : null}
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

type Allowance = CurrentPlan['windows'][number];

/** The active plan: remaining allowance, its renewal time, and the queued plan. */
function CurrentPlanSection({ own: current }: { readonly own: CurrentPlan }) {
  const { t } = useTranslation('costs');
  const titleOf = useModelTitle();
  const none = current.package_code === NO_PACKAGE;
  const until =
    current.expires_at === 0 ? null : (
      <Text size="sm" c="dimmed" title={formatDeadline(current.expires_at)}>
        {t('plan.until')} <RelativeTime at={current.expires_at} />
      </Text>
    );
  return (
    <SettingsSection
      title={none ? t('plan.none') : current.name}
      subtitle={none ? t('plan.noneText') : current.description === '' ? undefined : current.description}
      aside={none ? undefined : until}
    >
      <Stack>
        {current.windows.length === 0 ? null : (
          <SimpleGrid cols={{ base: 1, sm: current.windows.length }}>
            {current.windows.map((window) => (
              <AllowanceMeter key={window.kind} window={window} />
            ))}
          </SimpleGrid>
        )}
        <Group justify="space-between">
          <Text size="sm">
            {t('plan.wallet') + formatColon()}
            <CreditAmount value={current.wallet} fw={600} />
          </Text>
          <GetCreditsButton />
        </Group>
        {current.models.length === 0 ? null : (
          <Group gap={6}>
            <Text size="sm">{t('plan.models') + formatColon()}</Text>
            {current.models.map((model) => (
              <Badge key={model} color="gray" className="verbatim">
                {titleOf(model)}
              </Badge>
            ))}
          </Group>
        )}
        {current.waiting.length === 0 ? null : (
          <div>
            <Text size="sm" fw={600} mb={4}>
              {t('plan.waiting')}
            </Text>
            <List size="sm">
              {current.waiting.map(({ package_code, name, duration_days, starts_at }) => (
                <List.Item key={`${package_code}${starts_at}`}>
                  {t('plan.waitingItem', { name, count: duration_days, moment: formatDeadline(starts_at) })}
                </List.Item>
              ))}
            </List>
          </div>
        )}
      </Stack>
    </SettingsSection>
  );
}

/** Opens a ticket that requests credits; administrators change their balance themselves. */
function GetCreditsButton() {
  const { t } = useTranslation('costs');
  const { data: self } = useSelf();
  if (self === undefined) return null;
  if (isAdmin(self.role))
    return (
      <RouteButton variant="default" to="/admin/users/$id" params={{ id: String(self.id) }}>
        {t('plan.addCredits')}
      </RouteButton>
    );
  const search = { category: 'billing', title: t('plan.creditsTitle'), content: t('plan.creditsText') };
  return (
    <RouteButton variant="default" to="/tickets/new" search={search}>
      {t('plan.requestCredits')}
    </RouteButton>
  );
}

/**
 * A forecast is shown below this percentage only: one based on the first few calls of a window would cause false
 * alarms.
 */
const FORECAST_BELOW_PERCENT = 75;

/** Remainder of one allowance, with a forecast of when it runs out. */
function AllowanceMeter({ window }: { readonly window: Allowance }) {
  const { t } = useTranslation('costs');
  const quota = useFormatCredits();
  const { kind, limit, left, refreshes_at, runs_out_at } = window;
  const percent = limit === 0 ? 0 : Math.round((left / limit) * 100);
  const name = t(`plan.windows.${kind}`);
  return (
    <div>
      <Group justify="space-between" gap="xs" mb={4}>
        <Text size="sm" fw={600}>
          {name}
        </Text>
        <Text size="sm">{t('plan.leftOf', { left: quota(left), limit: quota(limit) })}</Text>
      </Group>
      <Progress
        value={percent}
        color={percent > 25 ? 'teal' : percent > 8 ? 'yellow' : 'red'}
        aria-label={t('plan.leftLabel', { name, percent })}
      />
      <Text size="xs" c="dimmed" mt={4}>
        {t('plan.refreshes')} <RelativeTime at={refreshes_at} />
      </Text>
      {left > 0 && runs_out_at > 0 && percent <= FORECAST_BELOW_PERCENT ? (
        <Text size="xs" fw={600}>
          {t('plan.runsOut')} <RelativeTime at={runs_out_at} />
        </Text>
      ) : null}
      {left === 0 ? (
        <Text size="xs" fw={600}>
          {t('plan.usedUp')}
        </Text>
      ) : null}
    </div>
  );
}

const HOUR_SECONDS = 3600;
/** One plan on offer. */
function PurchasablePlanCard({
  card: plan,
  current,
}: {
  readonly card: PurchasablePlan;
  readonly current: CurrentPlan | undefined;
}) {
  const { t } = useTranslation('costs');
  const own = current?.package_code === plan.package_code;
  const unit = useAmountUnit();
  const price = plan.price_amount === 0 ? t('plan.free') : formatListPrice(plan.price_amount, unit, currentLanguage());
  return (
    <Card p="lg" component="article" aria-label={plan.name} bd={own ? '2px solid accent.7' : undefined}>
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <Title order={3} style={{ overflowWrap: 'anywhere' }}>
          {plan.name}
        </Title>
        {own ? <Badge style={{ flexShrink: 0 }}>{t('plan.yours')}</Badge> : null}
      </Group>
      <Text mt={4}>
        <Text component="span" fz={24} fw={700}>
          {price}
        </Text>{' '}
        <Text component="span" size="sm" c="dimmed">
          {t('plan.forDays', { count: plan.duration_days })}
        </Text>
      </Text>
      {plan.description === '' ? null : (
        <Text size="sm" c="dimmed" mt="xs" style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
          {plan.description}
        </Text>
      )}
      <Allowances card={plan} />
      {own ? null : <GetPlanButton plan={plan} price={price} />}
    </Card>
  );
}

/** Opens the operator's page where the plan is bought, or a ticket that requests it. */
function GetPlanButton({ plan, price }: { readonly plan: PurchasablePlan; readonly price: string }) {
  const { t } = useTranslation('costs');
  const { name, order_url: orderUrl = '', duration_days: count } = plan;
  if (orderUrl !== '')
    return (
      <Button component="a" href={orderUrl} target="_blank" rel="noopener noreferrer" mt="md" fullWidth>
        {t('plan.buy')}
      </Button>
    );
  const search = {
    category: 'billing',
    title: t('plan.requestTitle', { name }),
    content: t('plan.requestText', { name, price, duration: t('plan.forDays', { count }) }),
  };
  return (
    <Button
      variant="default"
      mt="md"
      fullWidth
      renderRoot={(props) => <Link to="/tickets/new" search={search} {...props} />}
    >
      {t('plan.request')}
    </Button>
  );
}

function Allowances({ card: plan }: { readonly card: PurchasablePlan }) {
  const { t } = useTranslation('costs');
  const quota = useFormatCredits();
  const every = plan.refresh_interval_seconds;
  const period =
    every % DAY_SECONDS === 0
      ? t('plan.everyDays', { count: every / DAY_SECONDS })
      : every % HOUR_SECONDS === 0
        ? t('plan.everyHours', { count: every / HOUR_SECONDS })
        : t('plan.everyMinutes', { count: Math.max(1, Math.round(every / 60)) });
  return (
    <List size="sm" mt="sm" spacing={2}>
      <List.Item>
        {every === 0
          ? t('plan.perDay', { amount: quota(plan.daily_quota) })
          : t('plan.perPeriod', { amount: quota(plan.interval_quota), period })}
      </List.Item>
      {plan.weekly_quota_limit === 0 ? null : (
        <List.Item>{t('plan.perWeek', { amount: quota(plan.weekly_quota_limit) })}</List.Item>
      )}
      {plan.monthly_quota_limit === undefined ? null : (
        <List.Item>{t('plan.perMonth', { amount: quota(plan.monthly_quota_limit) })}</List.Item>
      )}
    </List>
  );
}

type GrantResult = EndpointPart<typeof redeemCode, 'response'>['data'];

/**
 * Redeems a code for a plan or credits. A link may prefill the code (`/packages?code=…`), but the user has to submit
 * it.
 */
function RedeemCode() {
  const { t } = useTranslation('costs');
  const queries = useQueryClient();
  const { code: initialCode = '' } = useSearch({ from: '/app/packages' });
  const [code, setCode] = useState(initialCode);
  const redeem = useMutation({
    mutationFn: async (text: string) => (await callApi(redeemCode, { body: { code: text } })).data,
    onSuccess: async () => {
      setCode('');
      await refetchPlanAndCredits(queries);
    },
  });
  return (
    <SettingsSection title={t('plan.redeem')} subtitle={t('plan.redeemLead')}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          redeem.mutate(code.trim());
        }}
      >
        <Group align="flex-end" gap="sm">
          <TextInput
            label={t('plan.code')}
            flex={1}
            miw={220}
            maw={420}
            maxLength={200}
            autoComplete="off"
            autoCapitalize="characters"
            spellCheck={false}
            styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
            value={code}
            onChange={(event) => setCode(event.currentTarget.value)}
          />
          <Button type="submit" loading={redeem.isPending} disabled={code.trim() === ''}>
            {t('plan.redeemAction')}
          </Button>
        </Group>
      </form>
      <div aria-live="polite">
        {redeem.data === undefined ? null : <RedeemResult granted={redeem.data} />}
        {redeem.error === null ? null : (
          <div style={{ marginTop: 12 }}>
            <ErrorAlert error={redeem.error} />
          </div>
        )}
      </div>
    </SettingsSection>
  );
}

function RedeemResult({ granted }: { readonly granted: GrantResult }) {
  const { t } = useTranslation('costs');
  const quota = useFormatCredits();
  const { outcome, quota: credited, package_code, package_expires_at } = granted;
  const until = package_expires_at === 0 ? '' : formatDate(package_expires_at);
  const { data: plans = [] } = useQuery(purchasablePlansQuery);
  const name = plans.find((plan) => plan.package_code === package_code)?.name ?? package_code;
  return (
    <Alert mt="sm" color="teal" icon={<IconCheck />}>
      {t(`plan.outcome.${outcome}`, { amount: quota(credited), name, day: until })}
    </Alert>
  );
}
