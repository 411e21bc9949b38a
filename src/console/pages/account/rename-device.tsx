import { ActionIcon, TextInput, Tooltip } from '@mantine/core';
import { IconPencil } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { NAME_LENGTH_MAX, nameDevice } from '../../../contract/device-auth.ts';
import type { DeviceRow } from '../../data/account.ts';
import { call } from '../../data/client.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { useNotices } from '../../parts/notices.tsx';

/** Gives a device a name of one's own. */
export function RenameDevice({ device }: { readonly device: DeviceRow }) {
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

function RenameDialog({ device, onClose }: { readonly device: DeviceRow; readonly onClose: () => void }) {
  const { t } = useTranslation(['account', 'shell']);
  const queries = useQueryClient();
  const notices = useNotices();
  const [name, setName] = useState(device.name);
  const save = useMutation({
    mutationFn: () => call(nameDevice, { params: { id: String(device.id) }, body: { name } }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['devices'] });
      notices.done(t('shell:saved'));
      onClose();
    },
  });
  return (
    <Dialog
      title={t('devices.rename')}
      action={t('shell:save')}
      busy={save.isPending}
      error={save.error}
      onSubmit={() => save.mutate()}
      onClose={onClose}
    >
      <TextInput
        label={t('devices.name')}
        description={t('devices.nameHint', { client: device.client })}
        maxLength={NAME_LENGTH_MAX}
        data-autofocus
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
    </Dialog>
  );
}
