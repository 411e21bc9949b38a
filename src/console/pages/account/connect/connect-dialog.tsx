import { Modal } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useReturnFocus } from '../../../components/use-return-focus.ts';
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
  useReturnFocus();
  const { t } = useTranslation(['connect', 'app']);
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('title', { name: apiKey.name })}
      size="xl"
      closeButtonProps={{ 'aria-label': t('app:close') }}
    >
      <ConnectPanel tokenId={apiKey.id} page={page} allowedModels={apiKey.models} />
    </Modal>
  );
}
