import { Select, Text, TextInput } from '@mantine/core';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { defined } from '../../../../contract/objects.ts';
import { activatePackage, NO_PACKAGE } from '../../../../contract/plans.ts';
import { randomId } from '../../../../contract/random-id.ts';
import { ReelgateError } from '../../../../sdk/errors.ts';
import { useFormatCredits } from '../../../components/credit-amount.tsx';
import { FormDialog } from '../../../components/dialog.tsx';
import { AmountInput } from '../../../components/limit-fields.tsx';
import { NumberField } from '../../../components/number-field.tsx';
import { useSaveAndClose } from '../../../components/save-form.tsx';
import { SegmentedControl } from '../../../components/segmented-control.tsx';
import { useInvalidateQueries, usePlanOptions } from '../../../data/admin.ts';
import { callApi } from '../../../data/api-client.ts';
import { creditsToQuota } from '../../../data/field-values.ts';
import { useStatus } from '../../../data/self.ts';

interface OnceOptions {
  readonly headers: { readonly 'idempotency-key': string };
}

/**
 * `useSaveAndClose` for a dialog that makes one change at most. After a lost response the button repeats the request;
 * if the values were edited meanwhile, the service refuses them once the first change was made.
 */
function useSaveOnce(save: (options: OnceOptions) => Promise<unknown>, options: Parameters<typeof useSaveAndClose>[1]) {
  const { t } = useTranslation('admin');
  const invalidate = useInvalidateQueries();
  const key = useRef(randomId());
  return useSaveAndClose(async () => {
    try {
      await save({ headers: { 'idempotency-key': key.current } });
    } catch (error) {
      if (!(error instanceof ReelgateError && error.code === 'idempotency_mismatch')) throw error;
      await invalidate();
      throw new Error(t('users.changedBefore'));
    }
  }, options);
}

interface AssignPlanDialogProps {
  /** Id of the account or organization. */
  readonly id: number;
  readonly name: string;
  readonly onClose: () => void;
}

/** Assigns a plan without a code to an account or organization, or ends its current subscription. */
export function AssignPlanDialog({ id, name, onClose }: AssignPlanDialogProps) {
  const { t } = useTranslation('admin-plans');
  const plans = usePlanOptions();
  const [code, setCode] = useState<string | null>(null);
  const [days, setDays] = useState<number | string>('');
  const body = {
    user_id: id,
    package_code: code ?? NO_PACKAGE,
    duration_days: days === '' || code === NO_PACKAGE ? undefined : Number(days),
  };
  const give = useSaveOnce((options) => callApi(activatePackage, { body }, options), {
    onClose,
    message: t('assign.done', { name }),
  });
  return (
    <FormDialog
      title={t('assign.title', { name })}
      submitLabel={t('assign.action')}
      save={give}
      error={plans.error}
      onClose={onClose}
      disabled={code === null}
    >
      <Select
        label={t('assign.plan')}
        placeholder={t('codes.choosePlan')}
        data={[...(plans.options ?? []), { value: NO_PACKAGE, label: t('assign.none') }]}
        required
        data-autofocus
        value={code}
        onChange={setCode}
      />
      {code === NO_PACKAGE ? null : (
        <NumberField
          label={t('assign.days')}
          description={t('assign.daysHint')}
          min={1}
          max={36_500}
          allowDecimal={false}
          hideControls
          value={days}
          onChange={setDays}
        />
      )}
    </FormDialog>
  );
}

interface BalanceDialogProps {
  /** Name of the account or organization. */
  readonly name: string;
  /** Its balance. */
  readonly quota: number;
  readonly change: (
    body: { readonly quota_delta: number; readonly note?: string },
    options: OnceOptions,
  ) => Promise<unknown>;
  readonly onClose: () => void;
}

/** Adds to or subtracts from a wallet; never sets it, because a video may be charged to it concurrently. */
export function BalanceDialog({ name, quota: balance, change, onClose }: BalanceDialogProps) {
  const { t } = useTranslation('admin');
  const quota = useFormatCredits();
  const perUnit = useStatus().data?.quota_per_unit;
  const [direction, setWay] = useState<'add' | 'take'>('add');
  const [credits, setCredits] = useState<number | string>('');
  const [note, setNote] = useState('');
  const delta = creditsToQuota(Number(credits), perUnit) * (direction === 'add' ? 1 : -1);
  const save = useSaveOnce(
    (options) => change(defined({ quota_delta: delta, note: note.trim() || undefined }), options),
    { onClose, message: t('users.balanceChanged', { name }) },
  );
  return (
    <FormDialog
      title={t('users.balanceTitle', { name })}
      submitLabel={t(direction === 'add' ? 'users.add' : 'users.take')}
      save={save}
      onClose={onClose}
      disabled={delta === 0 || balance + delta < 0}
    >
      <SegmentedControl
        aria-label={t('users.changeBalance')}
        value={direction}
        onChange={(value) => setWay(value as typeof direction)}
        data={[
          { value: 'add', label: t('users.add') },
          { value: 'take', label: t('users.take') },
        ]}
      />
      <AmountInput
        label={t('users.credits')}
        max={1e9}
        thousandSeparator
        required
        data-autofocus
        value={credits}
        onChange={setCredits}
        error={balance + delta < 0 ? t('users.tooMuch') : undefined}
      />
      <TextInput
        label={t('users.note')}
        description={t('users.noteHint')}
        maxLength={500}
        value={note}
        onChange={(event) => setNote(event.currentTarget.value)}
      />
      <Text size="sm" role="status">
        {t('users.afterwards', { before: quota(balance), after: quota(Math.max(0, balance + delta)) })}
      </Text>
    </FormDialog>
  );
}
