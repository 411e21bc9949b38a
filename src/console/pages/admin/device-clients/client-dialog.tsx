import { Modal, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminCreateDeviceClient } from '../../../../contract/device-clients.ts';
import { useRefresh } from '../../../data/admin.ts';
import { call } from '../../../data/client.ts';
import { Dialog } from '../../../parts/dialog.tsx';
import { ShownOnce } from './shown-once.tsx';

export function ClientDialog({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation(['admin', 'shell']);
  const refresh = useRefresh();
  const [name, setName] = useState('');
  const [clientId, setClientId] = useState('');
  const make = useMutation({
    mutationFn: async () =>
      (
        await call(adminCreateDeviceClient, {
          body: { name: name.trim(), ...(clientId === '' ? {} : { client_id: clientId }) },
        })
      ).data,
    onSuccess: refresh,
  });
  if (make.data !== undefined) {
    return (
      <Modal
        opened
        onClose={onClose}
        title={t('clients.secretOf', { name })}
        closeOnClickOutside={false}
        closeButtonProps={{ 'aria-label': t('shell:close') }}
      >
        <ShownOnce clientId={make.data.client_id} secret={make.data.client_secret} onClose={onClose} />
      </Modal>
    );
  }
  return (
    <Dialog
      title={t('clients.make')}
      action={t('clients.make')}
      busy={make.isPending}
      error={make.error}
      onSubmit={() => make.mutate()}
      onClose={onClose}
    >
      <TextInput
        label={t('clients.name')}
        description={t('clients.nameHint')}
        maxLength={100}
        required
        data-autofocus
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <TextInput
        label={`${t('clients.id')} (${t('shell:optional')})`}
        description={t('clients.idHint')}
        pattern="[A-Za-z0-9._\-]{3,64}"
        spellCheck={false}
        value={clientId}
        onChange={(event) => setClientId(event.currentTarget.value)}
      />
    </Dialog>
  );
}
