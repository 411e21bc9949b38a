import { useTranslation } from 'react-i18next';
import { removeChannel } from '../../../../contract/channels.ts';
import { DeletePanel } from '../../../components/delete-button-and-panel.tsx';
import type { ChannelDetail } from '../../../data/admin-types.ts';
import { callApi } from '../../../data/api-client.ts';

export function DeleteChannel({ channel: { id, name } }: { readonly channel: ChannelDetail }) {
  const { t } = useTranslation('admin-channels');
  return (
    <DeletePanel
      heading={t('channels.remove')}
      title={t('channels.removeTitle', { name })}
      text={t('channels.removeText')}
      confirmLabel={t('channels.removeAction', { name })}
      remove={() => callApi(removeChannel, { params: { id: String(id) } })}
      message={t('channels.removed', { name })}
      listPage="/admin/channels"
    />
  );
}
