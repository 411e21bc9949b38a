import { NumberInput, Select, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { adminCreateRedemptionCodes } from '../../../../contract/plans.ts';
import { AmountInput } from '../../../components/amount-input.tsx';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { OneTimeSecretDialog } from '../../../components/one-time-secret-dialog.tsx';
import { SegmentedControl } from '../../../components/segmented-control.tsx';
import { useFormValues } from '../../../components/use-form-values.ts';
import { callApi } from '../../../data/api-client.ts';
import { creditsToQuota } from '../../../data/credits-to-quota.ts';
import { toEndOfDay } from '../../../data/date-field-conversion.ts';
import { useInvalidateQueries } from '../../../data/query-any-admin-endpoint.ts';
import { useStatus } from '../../../data/signed-in-user-and-site-queries.ts';
import { usePlanOptions } from '../plans/use-plan-options.ts';
import { CreatedCodes } from './created-codes.tsx';

const INITIAL_FORM = {
  kind: 'plan' as 'plan' | 'credits',
  plan: null as string | null,
  credits: 10 as number | string,
  count: 10 as number | string,
  day: '',
  note: '',
};

/** Makes a batch and shows it this once. */
export function NewCodesDialog({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation(['admin-redemption-codes', 'app']);
  const invalidate = useInvalidateQueries();
  const perUnit = useStatus().data?.quota_per_unit;
  const plans = usePlanOptions();
  const { draft: form, set, text, value } = useFormValues(INITIAL_FORM);
  const make = useMutation({
    mutationFn: async () => {
      const value =
        form.kind === 'plan'
          ? { package_code: form.plan ?? '' }
          : { quota: creditsToQuota(Number(form.credits), perUnit) };
      const body = { ...value, count: Number(form.count), expires_at: toEndOfDay(form.day), note: form.note.trim() };
      return (await callApi(adminCreateRedemptionCodes, { body })).data;
    },
    onSuccess: invalidate,
  });
  if (make.data !== undefined) {
    return (
      <OneTimeSecretDialog title={t('onceTitle', { count: make.data.codes.length })} onClose={onClose}>
        <CreatedCodes codes={make.data.codes} batch={make.data.id} onClose={onClose} />
      </OneTimeSecretDialog>
    );
  }
  return (
    <FormDialog
      title={t('make')}
      submitLabel={t('make')}
      save={make}
      error={plans.error}
      onClose={onClose}
      disabled={form.kind === 'plan' ? form.plan === null : Number(form.credits) <= 0}
    >
      <SegmentedControl
        aria-label={t('kind')}
        value={form.kind}
        onChange={(kind) => set({ kind: kind as typeof form.kind })}
        data={[
          { value: 'plan', label: t('plan') },
          { value: 'credits', label: t('credits') },
        ]}
      />
      {form.kind === 'plan' ? (
        plans.options?.length === 0 ? (
          <Text size="sm">{t('noPlans')}</Text>
        ) : (
          <Select
            label={t('planName')}
            placeholder={t('choosePlan')}
            data={plans.options ?? []}
            required
            {...value('plan')}
          />
        )
      ) : (
        <AmountInput label={t('amount')} max={1e9} decimalScale={6} required {...value('credits')} />
      )}
      <NumberInput label={t('count')} min={1} max={1_000} allowDecimal={false} required {...value('count')} />
      <TextInput type="date" label={t('expires')} description={t('expiresHint')} {...text('day')} />
      <TextInput
        label={`${t('note')} (${t('app:optional')})`}
        description={t('noteHint')}
        maxLength={500}
        {...text('note')}
      />
    </FormDialog>
  );
}
