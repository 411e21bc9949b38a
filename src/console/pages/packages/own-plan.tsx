import { Badge, Group, List, Progress, SimpleGrid, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { NO_PACKAGE } from '../../../contract/packages.ts';
import type { OwnPackage } from '../../data/packages.ts';
import { toMoment } from '../../data/time.ts';
import { Moment } from '../../parts/moment.tsx';
import { Quota, useQuota } from '../../parts/quota.tsx';
import { Section } from '../../parts/section.tsx';

type Allowance = OwnPackage['windows'][number];

/** The plan that runs: what is left of it, when there is more, what comes after it. */
export function OwnPlan({ own }: { readonly own: OwnPackage }) {
  const { t } = useTranslation('packages');
  const none = own.package_code === NO_PACKAGE;
  const until =
    own.expires_at === 0 ? null : (
      <Text size="sm" c="dimmed" title={toMoment(own.expires_at)}>
        {t('until')} <Moment at={own.expires_at} />
      </Text>
    );
  return (
    <Section
      title={none ? t('none') : own.name}
      lead={none ? t('noneText') : own.description === '' ? undefined : own.description}
      aside={none ? undefined : until}
    >
      <Stack>
        {own.windows.length === 0 ? null : (
          <SimpleGrid cols={{ base: 1, sm: own.windows.length }}>
            {own.windows.map((window) => (
              <Left key={window.kind} window={window} />
            ))}
          </SimpleGrid>
        )}
        <Text size="sm">
          {t('wallet')}: <Quota value={own.wallet} fw={600} />
        </Text>
        {own.models.length === 0 ? null : (
          <Group gap={6}>
            <Text size="sm">{t('models')}:</Text>
            {own.models.map((model) => (
              <Badge key={model} color="gray">
                {model}
              </Badge>
            ))}
          </Group>
        )}
        {own.waiting.length === 0 ? null : (
          <div>
            <Text size="sm" fw={600} mb={4}>
              {t('waiting')}
            </Text>
            <List size="sm">
              {own.waiting.map(({ package_code, name, duration_days, starts_at }) => (
                <List.Item key={`${package_code}${starts_at}`}>
                  {t('waitingItem', { name, count: duration_days, moment: toMoment(starts_at) })}
                </List.Item>
              ))}
            </List>
          </div>
        )}
      </Stack>
    </Section>
  );
}

/** How much of one allowance is left, and whether the present pace is too fast for it. */
function Left({ window }: { readonly window: Allowance }) {
  const { t } = useTranslation('packages');
  const quota = useQuota();
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
        {t('refreshes')} <Moment at={refreshes_at} />
      </Text>
      {left > 0 && runs_out_at > 0 ? (
        <Text size="xs" fw={600}>
          {t('runsOut')} <Moment at={runs_out_at} />
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
