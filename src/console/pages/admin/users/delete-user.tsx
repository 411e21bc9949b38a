import { useTranslation } from 'react-i18next';
import { adminDeleteUser } from '../../../../contract/admin-accounts.ts';
import { DeletePanel } from '../../../components/delete-button-and-panel.tsx';
import type { User } from '../../../data/admin-types.ts';
import { callApi } from '../../../data/api-client.ts';

export function DeleteUser({ user: { id, username: name } }: { readonly user: User }) {
  const { t } = useTranslation('admin');
  return (
    <DeletePanel
      heading={t('users.remove')}
      title={t('users.removeTitle', { name })}
      text={t('users.removeText')}
      confirmLabel={t('users.removeAction', { name })}
      remove={() => callApi(adminDeleteUser, { params: { id: String(id) } })}
      message={t('users.removed', { name })}
      listPage="/admin/users"
    />
  );
}
