import { Fieldset, NumberInput, SimpleGrid } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { ApiKey, ApiKeyBody } from '../../data/api-key-queries.ts';

const LIMITS = [
  ['requestsPerMinute', 'requests_per_minute', 1_000_000_000],
  ['tokensPerMinute', 'tokens_per_minute', 1_000_000_000],
  ['concurrentCalls', 'concurrent_calls', 1_000],
  ['concurrentTasks', 'concurrent_tasks', 1_000],
] as const;

type LimitName = (typeof LIMITS)[number][0];
/** Empty: any number. */
export type RateLimitFormValues = Record<LimitName, number | string>;

interface ApiKeyRateLimitFieldsProps {
  readonly value: (name: LimitName) => { value: number | string; onChange: (next: number | string) => void };
}

/** What a key may do in a minute and at once. */
export function ApiKeyRateLimitFields({ value }: ApiKeyRateLimitFieldsProps) {
  const { t } = useTranslation('account');
  return (
    <Fieldset legend={t('apiKeys.rates')}>
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        {LIMITS.map(([name, , max]) => (
          <NumberInput
            key={name}
            label={t(`apiKeys.${name}`)}
            placeholder={t('apiKeys.ratesHint')}
            min={1}
            max={max}
            allowDecimal={false}
            hideControls
            {...value(name)}
          />
        ))}
      </SimpleGrid>
    </Fieldset>
  );
}

export const toRateLimitDraft = (apiKey: ApiKey | undefined): RateLimitFormValues =>
  Object.fromEntries(LIMITS.map(([name, field]) => [name, apiKey?.[field] ?? ''])) as RateLimitFormValues;

export const toRateLimits = (draft: RateLimitFormValues): Pick<ApiKeyBody, (typeof LIMITS)[number][1]> =>
  Object.fromEntries(LIMITS.map(([name, field]) => [field, draft[name] === '' ? null : Number(draft[name])]));
