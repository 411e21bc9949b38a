import { Alert, Button, Stack } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { createManagementToken } from '../../../contract/accounts.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { CopyField } from '../../components/copy-button-and-field.tsx';
import { SettingsSection } from '../../components/settings-section.tsx';
import { callApi } from '../../data/api-client.ts';
import { useSelf, useStatus } from '../../data/signed-in-user-and-site-queries.ts';

export function ManagementTokenSection() {
  const { t } = useTranslation('account');
  const { data: self } = useSelf();
  const { data: status } = useStatus();
  const [token, setToken] = useState<string>();
  return (
    <SettingsSection
      title={t('security.access')}
      subtitle={t('security.accessText')}
      aside={
        <ConfirmDialog
          title={t('security.makeAccessTitle')}
          confirmLabel={t('security.makeAccess')}
          onConfirm={async () => setToken((await callApi(createManagementToken, {})).data.access_token)}
          trigger={(open) => (
            <Button variant="default" onClick={open}>
              {t('security.makeAccess')}
            </Button>
          )}
        >
          {t('security.makeAccessText')}
        </ConfirmDialog>
      }
    >
      {token === undefined ? null : (
        <Stack>
          <Alert color="yellow" title={t('security.accessTitle')}>
            {t('security.accessOnce', { header: status?.api_user_header, id: self?.id })}
          </Alert>
          <CopyField text={token} />
        </Stack>
      )}
    </SettingsSection>
  );
}
