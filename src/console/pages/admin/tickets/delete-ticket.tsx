import { useTranslation } from 'react-i18next';
import { adminDeleteTicket } from '../../../../contract/tickets.ts';
import { DeletePanel } from '../../../components/delete-button-and-panel.tsx';
import { callApi } from '../../../data/api-client.ts';

export function DeleteTicket({ id }: { readonly id: number }) {
  const { t } = useTranslation('admin-tickets');
  return (
    <DeletePanel
      heading={t('remove')}
      title={t('removeTitle', { id })}
      text={t('removeText')}
      confirmLabel={t('remove')}
      remove={() => callApi(adminDeleteTicket, { params: { id: String(id) } })}
      message={t('removed')}
      listPage="/admin/tickets"
    />
  );
}
