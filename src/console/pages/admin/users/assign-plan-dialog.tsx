import { NumberInput, Select } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { activatePackage, NO_PACKAGE } from '../../../../contract/plans.ts';
import { FormDialog } from '../../../components/dialog.tsx';
import { useSaveAndClose } from '../../../components/save-form.tsx';
import { usePlanOptions } from '../../../data/admin.ts';
import { callApi } from '../../../data/api-client.ts';

interface AssignPlanDialogProps {
  /** Id of the account or organization. */
  readonly id: number;
  readonly name: string;
  readonly onClose: () => void;
}

/** Assigns a plan without a code to an account or organization, or ends its current subscription. */
export function AssignPlanDialog({ id, name, onClose }: AssignPlanDialogProps) {
  const { t } = useTranslation(['admin-plans', 'admin-redemption-codes']);
  const plans = usePlanOptions();
  const [code, setCode] = useState<string | null>(null);
  const [days, setDays] = useState<number | string>('');
  const give = useSaveAndClose(
    () =>
      callApi(activatePackage, {
        body: {
          user_id: id,
          package_code: code ?? NO_PACKAGE,
          duration_days: days === '' || code === NO_PACKAGE ? undefined : Number(days),
        },
      }),
    { onClose, message: t('assign.done', { name }) },
  );
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
        placeholder={t('admin-redemption-codes:choosePlan')}
        data={[...(plans.options ?? []), { value: NO_PACKAGE, label: t('assign.none') }]}
        required
        data-autofocus
        value={code}
        onChange={setCode}
      />
      {code === NO_PACKAGE ? null : (
        <NumberInput
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
