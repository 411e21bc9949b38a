import { Button, Select, TagsInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { DEFAULT_THRESHOLDS, deleteBudget, putBudget } from '../../../contract/plans.ts';
import { FormDialog } from '../../components/dialog.tsx';
import { AmountInput } from '../../components/limit-fields.tsx';
import { useFormValues } from '../../components/save-form.tsx';
import { callApi } from '../../data/api-client.ts';
import { type BudgetEntry, budgetsQuery } from '../../data/costs.ts';
import { creditsToQuota } from '../../data/field-values.ts';
import { apiKeysQuery } from '../../data/keys.ts';
import { useStatus } from '../../data/self.ts';

interface BudgetDialogProps {
  readonly budget: BudgetEntry | 'new';
  /** Id of the key the budget is limited to; undefined lets the user choose. */
  readonly tokenId: number | undefined;
  readonly onClose: () => void;
}

/** Sets, changes or removes a monthly budget. */
export default function BudgetDialog({ budget, tokenId, onClose }: BudgetDialogProps) {
  const { t } = useTranslation('costs');
  const queries = useQueryClient();
  const keys = useQuery(apiKeysQuery(1));
  const perUnit = useStatus().data?.quota_per_unit ?? 500_000;
  const old = budget === 'new' ? undefined : budget;
  const { draft, value } = useFormValues(() => ({
    of: String(old?.token_id ?? tokenId ?? 0) as string | null,
    credits: (old === undefined ? '' : old.month_quota / perUnit) as number | string,
    thresholds: (old?.thresholds ?? DEFAULT_THRESHOLDS).map(String),
  }));
  const finish = async (): Promise<void> => {
    await queries.invalidateQueries({ queryKey: budgetsQuery.queryKey });
    onClose();
  };
  const params = { token_id: draft.of ?? '0' };
  const save = useMutation({
    mutationFn: () =>
      callApi(putBudget, {
        params,
        body: {
          month_quota: creditsToQuota(Number(draft.credits), perUnit),
          thresholds: draft.thresholds.map(Number),
        },
      }),
    onSuccess: finish,
  });
  const remove = useMutation({ mutationFn: () => callApi(deleteBudget, { params }), onSuccess: finish });
  const choices = [
    { value: '0', label: t('budget.account') },
    ...(keys.data?.data ?? []).map(({ id, name }) => ({ value: String(id), label: name })),
  ];
  return (
    <FormDialog
      title={t(old === undefined ? 'budget.add' : 'budget.change')}
      submitLabel={t('budget.save')}
      save={save}
      error={remove.error}
      onClose={onClose}
      disabled={draft.credits === '' || draft.thresholds.length === 0}
    >
      {old === undefined && tokenId === undefined ? (
        <Select label={t('budget.of')} data={choices} allowDeselect={false} {...value('of')} />
      ) : null}
      <AmountInput
        label={t('budget.amount')}
        description={t('budget.amountHint')}
        min={0.0001}
        required
        data-autofocus
        {...value('credits')}
      />
      <TagsInput
        label={t('budget.thresholds')}
        description={t('budget.thresholdsHint')}
        maxTags={10}
        splitChars={[',', ' ', ';']}
        isDuplicate={(each, all) => all.includes(each) || !/^[1-9]\d{0,2}$/.test(each)}
        {...value('thresholds')}
      />
      {old === undefined ? null : (
        <Button variant="subtle" color="red" loading={remove.isPending} onClick={() => remove.mutate()}>
          {t('budget.remove')}
        </Button>
      )}
    </FormDialog>
  );
}
