import { useTranslation } from 'react-i18next';
import { adminDeleteBetaApplication } from '../../../../contract/beta-applications.ts';
import { DeletePanel } from '../../../components/delete-button-and-panel.tsx';
import { callApi } from '../../../data/api-client.ts';

export function DeleteApplication({ id }: { readonly id: number }) {
  const { t } = useTranslation('admin-beta-applications');
  return (
    <DeletePanel
      heading={t('remove')}
      title={t('removeTitle', { id })}
      text={t('removeText')}
      confirmLabel={t('remove')}
      remove={() => callApi(adminDeleteBetaApplication, { params: { id: String(id) } })}
      message={t('removed')}
      listPage="/admin/beta-applications"
    />
  );
}
