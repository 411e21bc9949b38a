import { Button } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { adminVoidRedemptionBatch } from '../../../../contract/plans.ts';
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import { callApi } from '../../../data/api-client.ts';
import { useInvalidateQueries } from '../../../data/query-any-admin-endpoint.ts';

/** Revokes leaked codes; codes that are already redeemed stay redeemed. */
export function RevokeCodeBatch({ id }: { readonly id: number }) {
  const { t } = useTranslation('admin-redemption-codes');
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const withdraw = async (): Promise<void> => {
    const { data } = await callApi(adminVoidRedemptionBatch, { body: { batch_id: id } });
    await invalidate();
    toasts.success(t('voided', { count: data.voided }));
  };
  return (
    <ConfirmDialog
      title={t('voidBatchTitle', { id })}
      confirmLabel={t('voidBatch')}
      onConfirm={withdraw}
      trigger={(open) => (
        <Button variant="light" color="red" onClick={open}>
          {t('voidBatch')}
        </Button>
      )}
    >
      {t('voidText')}
    </ConfirmDialog>
  );
}
