import { NumberInput, SimpleGrid } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { SpendLimit } from '../../../../contract/spend-limits.ts';
import { SpendLimitFields } from '../../../components/spend-limit.tsx';
import {
  readNumberInput,
  type SpendLimitDraft,
  toSpendLimitBody,
  toSpendLimitDraft,
} from '../../../data/field-values.ts';

/** Limits of an account or organization; null: those of its plan apply. */
interface AccountLimits {
  readonly concurrent_tasks: number | null;
  readonly queued_tasks: number | null;
  readonly spend_limit: SpendLimit | null;
}

/** Form values of the limits; empty: no own limit. */
export interface AccountLimitDraft {
  readonly concurrent: number | string;
  readonly waiting: number | string;
  readonly spendLimit: SpendLimitDraft;
}

/** @param perUnit quota per credit */
export const toLimitDraft = (limits: AccountLimits, perUnit: number): AccountLimitDraft => ({
  concurrent: limits.concurrent_tasks ?? '',
  waiting: limits.queued_tasks ?? '',
  spendLimit: toSpendLimitDraft(limits.spend_limit, perUnit),
});

/**
 * The changed limits, so that two administrators do not overwrite each other's changes, and the spend limit of a plan
 * does not become the account's own.
 *
 * @param perUnit quota per credit
 */
export function toLimitBody(draft: AccountLimitDraft, old: AccountLimitDraft, perUnit: number) {
  const { spendLimit } = draft;
  const isSame = spendLimit.amount === old.spendLimit.amount && spendLimit.period === old.spendLimit.period;
  return {
    concurrent_tasks: draft.concurrent === old.concurrent ? undefined : (readNumberInput(draft.concurrent) ?? null),
    queued_tasks: draft.waiting === old.waiting ? undefined : (readNumberInput(draft.waiting) ?? null),
    spend_limit: isSame ? undefined : toSpendLimitBody(spendLimit, perUnit),
  };
}

interface AccountLimitFieldsProps {
  readonly draft: AccountLimitDraft;
  readonly onChange: (part: Partial<AccountLimitDraft>) => void;
}

/** Inputs for the limits of an account or organization, each of which takes precedence over its plan. */
export function AccountLimitFields({ draft, onChange }: AccountLimitFieldsProps) {
  const { t } = useTranslation('admin');
  const tasks = (name: 'concurrent' | 'waiting', label: string) => (
    <NumberInput
      label={label}
      description={t('users.taskLimitHint')}
      inputWrapperOrder={['label', 'input', 'description', 'error']}
      min={1}
      max={1_000_000}
      allowDecimal={false}
      hideControls
      value={draft[name]}
      onChange={(next) => onChange({ [name]: next })}
    />
  );
  return (
    <>
      <SpendLimitFields
        description={t('users.spendLimitHint')}
        value={draft.spendLimit}
        onChange={(spendLimit) => onChange({ spendLimit })}
      />
      <SimpleGrid cols={2}>
        {tasks('concurrent', t('users.concurrentTasks'))}
        {tasks('waiting', t('users.queuedTasks'))}
      </SimpleGrid>
    </>
  );
}
