import { Select, SimpleGrid, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { SPEND_PERIODS, type SpendLimit } from '../../contract/amounts.ts';
import { readNumberInput, type SpendLimitDraft, toSpendLimitBody, toSpendLimitDraft } from '../data/field-values.ts';
import { formatDeadline } from '../data/format-values.ts';
import { useAmountUnitName, useFormatCredits } from './credit-amount.tsx';
import { NumberField, type NumberFieldProps } from './number-field.tsx';

interface SpendLimitFieldsProps {
  readonly description: string;
  readonly value: SpendLimitDraft;
  readonly onChange: (draft: SpendLimitDraft) => void;
}

/** Inputs for the amount and the period of a spend limit. */
export function SpendLimitFields({ description, value, onChange }: SpendLimitFieldsProps) {
  const { t } = useTranslation();
  return (
    <SimpleGrid cols={2}>
      <AmountInput
        label={t('spendLimit.label')}
        description={description}
        inputWrapperOrder={['label', 'input', 'description', 'error']}
        min={0.000002}
        decimalScale={6}
        max={1e9}
        value={value.amount}
        onChange={(amount) => onChange({ ...value, amount })}
      />
      <Select
        label={t('spendLimit.period')}
        allowDeselect={false}
        data={SPEND_PERIODS.map((period) => ({ value: period, label: t(`spendLimit.periods.${period}`) }))}
        value={value.period}
        onChange={(period) => onChange({ ...value, period: period ?? value.period })}
      />
    </SimpleGrid>
  );
}

interface SpendLimitTextProps {
  readonly limit: SpendLimit & { readonly spent: number; readonly renews_at: number };
}

/** "10 of 50 CNY this month", with the time of renewal as a hint. */
export function SpendLimitText({ limit: { amount, spent, period, renews_at } }: SpendLimitTextProps) {
  const { t } = useTranslation();
  const quota = useFormatCredits();
  return (
    <Text span inherit title={t('spendLimit.renews', { at: formatDeadline(renews_at) })}>
      {t(`spendLimit.used.${period}`, { spent: quota(spent), amount: quota(amount) })}
    </Text>
  );
}

/** A number input whose label is a text. */
export interface AmountInputProps extends NumberFieldProps {
  readonly label: string;
}

/** An input for an amount of credits; the label names the site's unit, as in `Price per second (CNY)`. */
export function AmountInput({ label, ...input }: AmountInputProps) {
  const { t } = useTranslation();
  const unit = useAmountUnitName();
  return <NumberField label={t('amountIn', { label, unit })} min={0} decimalScale={4} hideControls {...input} />;
}

/** Limits of an account or organization; null: those of its plan apply. */
interface AccountLimits {
  readonly concurrent_tasks: number | null;
  readonly queued_tasks: number | null;
  readonly spend_limit: SpendLimit | null;
}

/** Form values of the limits; empty: no own limit. */
interface AccountLimitDraft {
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
    <NumberField
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
