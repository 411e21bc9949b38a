import { Button } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { adminVoidBatch } from '../../../../contract/packages.ts';
import { useRefresh } from '../../../data/admin.ts';
import { call } from '../../../data/client.ts';
import { Confirm } from '../../../parts/confirm.tsx';
import { useNotices } from '../../../parts/notices.tsx';

/** For codes that got into wrong hands: those used stay used. */
export function VoidBatch({ id }: { readonly id: number }) {
  const { t } = useTranslation('plans');
  const refresh = useRefresh();
  const notices = useNotices();
  const withdraw = async (): Promise<void> => {
    const { data } = await call(adminVoidBatch, { body: { batch_id: id } });
    await refresh();
    notices.done(t('codes.voided', { count: data.voided }));
  };
  return (
    <Confirm
      title={t('codes.voidBatchTitle', { id })}
      action={t('codes.voidBatch')}
      onConfirm={withdraw}
      trigger={(open) => (
        <Button variant="light" color="red" onClick={open}>
          {t('codes.voidBatch')}
        </Button>
      )}
    >
      {t('codes.voidText')}
    </Confirm>
  );
}
