import { useTranslation } from 'react-i18next';
import { adminDeleteModel } from '../../../../contract/models.ts';
import { DeletePanel } from '../../../components/delete-button-and-panel.tsx';
import { callApi } from '../../../data/api-client.ts';
import { toModelUrlSegment } from './model-id-url-segment.ts';

export function DeleteModel({ id: name }: { readonly id: string }) {
  const { t } = useTranslation('admin-models');
  return (
    <DeletePanel
      heading={t('models.remove')}
      title={t('models.removeTitle', { name })}
      text={t('models.removeText')}
      confirmLabel={t('models.removeAction', { name })}
      remove={() => callApi(adminDeleteModel, { params: { id: toModelUrlSegment(name) } })}
      message={t('models.removed', { name })}
      listPage="/admin/models"
    />
  );
}
