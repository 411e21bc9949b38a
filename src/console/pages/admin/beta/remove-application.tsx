import { Button } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { adminDeleteBetaApplication } from '../../../../contract/beta-applications.ts';
import { useRefresh } from '../../../data/admin.ts';
import { call } from '../../../data/client.ts';
import { Confirm } from '../../../parts/confirm.tsx';
import { useNotices } from '../../../parts/notices.tsx';

export function RemoveApplication({ id }: { readonly id: number }) {
  const { t } = useTranslation('desk');
  const refresh = useRefresh();
  const notices = useNotices();
  const navigate = useNavigate();
  const remove = async (): Promise<void> => {
    await call(adminDeleteBetaApplication, { params: { id: String(id) } });
    await navigate({ to: '/admin/beta-applications' as string });
    await refresh();
    notices.done(t('beta.removed'));
  };
  return (
    <Confirm
      title={t('beta.removeTitle', { id })}
      action={t('beta.remove')}
      onConfirm={remove}
      trigger={(open) => (
        <Button variant="subtle" color="red" onClick={open}>
          {t('beta.remove')}
        </Button>
      )}
    >
      {t('beta.removeText')}
    </Confirm>
  );
}
