import { useTranslation } from 'react-i18next';
import { Dialog } from '../../../components/dialog.tsx';
import type { ApiKey } from '../../../data/api-key-queries.ts';
import { ConnectPanel } from './connect-panel.tsx';

interface ConnectDialogProps {
  readonly apiKey: ApiKey;
  /** The page of the list of keys it is on. */
  readonly page: number;
  readonly onClose: () => void;
}

/** How to use an API key that exists; the key itself is not known any more. */
export function ConnectDialog({ apiKey, page, onClose }: ConnectDialogProps) {
  const { t } = useTranslation('connect-clients');
  return (
    <Dialog onClose={onClose} title={t('title', { name: apiKey.name })} size="xl">
      <ConnectPanel tokenId={apiKey.id} page={page} allowedModels={apiKey.models} />
    </Dialog>
  );
}
