import { Button } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { adminResetSecondFactors } from '../../../../contract/passkeys.ts';
import { ConfirmDialog } from '../../../components/dialog.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import { type User, useInvalidateQueries } from '../../../data/admin.ts';
import { callApi } from '../../../data/api-client.ts';

/** Removes passkeys and two-step verification of a user who lost them. */
export function ResetSecondFactors({ user }: { readonly user: User }) {
  const { t } = useTranslation('passkeys');
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  return (
    <ConfirmDialog
      title={t('reset.title', { name: user.username })}
      confirmLabel={t('reset.action')}
      onConfirm={async () => {
        await callApi(adminResetSecondFactors, { params: { id: String(user.id) } });
        await invalidate();
        toasts.success(t('reset.done'));
      }}
      trigger={(open) => (
        <Button variant="default" onClick={open}>
          {t('reset.action')}
        </Button>
      )}
    >
      {t('reset.text', { name: user.username })}
    </ConfirmDialog>
  );
}
