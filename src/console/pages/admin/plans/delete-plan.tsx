import { useTranslation } from 'react-i18next';
import { adminDeletePackageCard } from '../../../../contract/plans.ts';
import { DeletePanel } from '../../../components/delete-button-and-panel.tsx';
import type { Plan } from '../../../data/admin-types.ts';
import { callApi } from '../../../data/api-client.ts';

export function DeletePlan({ plan: { id, name } }: { readonly plan: Plan }) {
  const { t } = useTranslation('admin-plans');
  return (
    <DeletePanel
      heading={t('remove')}
      title={t('removeTitle', { name })}
      text={t('removeText')}
      confirmLabel={t('removeAction', { name })}
      remove={() => callApi(adminDeletePackageCard, { params: { id: String(id) } })}
      message={t('removed', { name })}
      listPage="/admin/packages"
    />
  );
}
