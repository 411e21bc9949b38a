import { Button } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { adminDeleteTicket } from '../../../../contract/tickets.ts';
import { useRefresh } from '../../../data/admin.ts';
import { call } from '../../../data/client.ts';
import { Confirm } from '../../../parts/confirm.tsx';
import { useNotices } from '../../../parts/notices.tsx';

export function RemoveTicket({ id }: { readonly id: number }) {
  const { t } = useTranslation('desk');
  const refresh = useRefresh();
  const notices = useNotices();
  const navigate = useNavigate();
  const remove = async (): Promise<void> => {
    await call(adminDeleteTicket, { params: { id: String(id) } });
    await navigate({ to: '/admin/tickets' as string });
    await refresh();
    notices.done(t('tickets.removed'));
  };
  return (
    <Confirm
      title={t('tickets.removeTitle', { id })}
      action={t('tickets.remove')}
      onConfirm={remove}
      trigger={(open) => (
        <Button variant="subtle" color="red" onClick={open}>
          {t('tickets.remove')}
        </Button>
      )}
    >
      {t('tickets.removeText')}
    </Confirm>
  );
}
