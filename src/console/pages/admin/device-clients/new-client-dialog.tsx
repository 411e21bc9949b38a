import { TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminCreateDeviceClient } from '../../../../contract/device-clients.ts';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { OneTimeSecretDialog } from '../../../components/one-time-secret-dialog.tsx';
import { callApi } from '../../../data/api-client.ts';
import { useInvalidateQueries } from '../../../data/query-any-admin-endpoint.ts';
import { OneTimeClientSecret } from './one-time-client-secret.tsx';

export function NewClientDialog({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation(['admin', 'app']);
  const invalidate = useInvalidateQueries();
  const [name, setName] = useState('');
  const [clientId, setClientId] = useState('');
  const make = useMutation({
    mutationFn: async () =>
      (
        await callApi(adminCreateDeviceClient, {
          body: { name: name.trim(), client_id: clientId || undefined },
        })
      ).data,
    onSuccess: invalidate,
  });
  if (make.data !== undefined) {
    return (
      <OneTimeSecretDialog title={t('deviceClients.secretOf', { name })} onClose={onClose}>
        <OneTimeClientSecret clientId={make.data.client_id} secret={make.data.client_secret} onClose={onClose} />
      </OneTimeSecretDialog>
    );
  }
  return (
    <FormDialog title={t('deviceClients.make')} submitLabel={t('deviceClients.make')} save={make} onClose={onClose}>
      <TextInput
        label={t('deviceClients.name')}
        description={t('deviceClients.nameHint')}
        maxLength={100}
        required
        data-autofocus
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <TextInput
        label={`${t('deviceClients.id')} (${t('app:optional')})`}
        description={t('deviceClients.idHint')}
        pattern="[A-Za-z0-9._\-]{3,64}"
        spellCheck={false}
        value={clientId}
        onChange={(event) => setClientId(event.currentTarget.value)}
      />
    </FormDialog>
  );
}
