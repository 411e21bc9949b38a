import { ActionIcon, TextInput, Tooltip } from '@mantine/core';
import { IconPencil } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { NAME_LENGTH_MAX, renameDevice } from '../../../contract/device-auth.ts';
import { FormDialog } from '../../components/form-dialog.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { callApi } from '../../data/api-client.ts';
import type { Device } from '../../data/session-email-and-device-queries.ts';

/** Lets the user rename a device. */
export function RenameDevice({ device }: { readonly device: Device }) {
  const { t } = useTranslation('account');
  const [open, setOpen] = useState(false);
  return (
    <>
      <Tooltip label={t('devices.rename')}>
        <ActionIcon size="sm" aria-label={t('devices.rename')} onClick={() => setOpen(true)}>
          <IconPencil size={15} />
        </ActionIcon>
      </Tooltip>
      {open ? <RenameDialog device={device} onClose={() => setOpen(false)} /> : null}
    </>
  );
}

function RenameDialog({ device, onClose }: { readonly device: Device; readonly onClose: () => void }) {
  const { t } = useTranslation(['account', 'app']);
  const queries = useQueryClient();
  const toasts = useToasts();
  const [name, setName] = useState(device.name);
  const save = useMutation({
    mutationFn: () => callApi(renameDevice, { params: { id: String(device.id) }, body: { name } }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['devices'] });
      toasts.success(t('app:saved'));
      onClose();
    },
  });
  return (
    <FormDialog title={t('devices.rename')} submitLabel={t('app:save')} save={save} onClose={onClose}>
      <TextInput
        label={t('devices.name')}
        description={t('devices.nameHint', { client: device.client })}
        maxLength={NAME_LENGTH_MAX}
        data-autofocus
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
    </FormDialog>
  );
}
