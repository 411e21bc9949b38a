import { Badge, Group, List, Progress, SimpleGrid, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { NO_PACKAGE } from '../../../contract/plans.ts';
import { CreditAmount } from '../../components/credit-amount.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { SettingsSection } from '../../components/settings-section.tsx';
import { useFormatCredits } from '../../components/use-format-credits.ts';
import { formatDateTime } from '../../data/format-times-and-durations.ts';
import type { CurrentPlan } from '../../data/plan-queries.ts';

type Allowance = CurrentPlan['windows'][number];

/** The active plan: its remaining allowance, when that is renewed, and which plan follows. */
export function CurrentPlanSection({ own: current }: { readonly own: CurrentPlan }) {
  const { t } = useTranslation('plan');
  const none = current.package_code === NO_PACKAGE;
  const until =
    current.expires_at === 0 ? null : (
      <Text size="sm" c="dimmed" title={formatDateTime(current.expires_at)}>
        {t('until')} <RelativeTime at={current.expires_at} />
      </Text>
    );
  return (
    <SettingsSection
      title={none ? t('none') : current.name}
      subtitle={none ? t('noneText') : current.description === '' ? undefined : current.description}
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
        <Text size="sm">
          {t('wallet')}: <CreditAmount value={current.wallet} fw={600} />
        </Text>
        {current.models.length === 0 ? null : (
          <Group gap={6}>
            <Text size="sm">{t('models')}:</Text>
            {current.models.map((model) => (
              <Badge key={model} color="gray">
                {model}
              </Badge>
            ))}
          </Group>
        )}
        {current.waiting.length === 0 ? null : (
          <div>
            <Text size="sm" fw={600} mb={4}>
              {t('waiting')}
            </Text>
            <List size="sm">
              {current.waiting.map(({ package_code, name, duration_days, starts_at }) => (
                <List.Item key={`${package_code}${starts_at}`}>
                  {t('waitingItem', { name, count: duration_days, moment: formatDateTime(starts_at) })}
                </List.Item>
              ))}
            </List>
          </div>
        )}
      </Stack>
    </SettingsSection>
  );
}

/** How much of one allowance is left, and whether the present pace is too fast for it. */
function AllowanceMeter({ window }: { readonly window: Allowance }) {
  const { t } = useTranslation('plan');
  const quota = useFormatCredits();
  const { kind, limit, left, refreshes_at, runs_out_at } = window;
  const percent = limit === 0 ? 0 : Math.round((left / limit) * 100);
  const name = t(`windows.${kind}`);
  return (
    <div>
      <Group justify="space-between" gap="xs" mb={4}>
        <Text size="sm" fw={600}>
          {name}
        </Text>
        <Text size="sm">{t('leftOf', { left: quota(left), limit: quota(limit) })}</Text>
      </Group>
      <Progress
        value={percent}
        color={percent > 25 ? 'teal' : percent > 8 ? 'yellow' : 'red'}
        aria-label={t('leftLabel', { name, percent })}
      />
      <Text size="xs" c="dimmed" mt={4}>
        {t('refreshes')} <RelativeTime at={refreshes_at} />
      </Text>
      {left > 0 && runs_out_at > 0 ? (
        <Text size="xs" fw={600}>
          {t('runsOut')} <RelativeTime at={runs_out_at} />
        </Text>
      ) : null}
      {left === 0 ? (
        <Text size="xs" fw={600}>
          {t('usedUp')}
        </Text>
      ) : null}
    </div>
  );
}
