import { Alert, Button, Stack } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { makeUserToken } from '../../../contract/accounts.ts';
import { call } from '../../data/client.ts';
import { useSelf, useStatus } from '../../data/queries.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { CopyField } from '../../parts/copy.tsx';
import { Section } from '../../parts/section.tsx';

export function AccessTokenSection() {
  const { t } = useTranslation('account');
  const { data: self } = useSelf();
  const { data: status } = useStatus();
  const [token, setToken] = useState<string>();
  return (
    <Section
      title={t('security.access')}
      lead={t('security.accessText')}
      aside={
        <Confirm
          title={t('security.makeAccessTitle')}
          action={t('security.makeAccess')}
          onConfirm={async () => setToken((await call(makeUserToken, {})).data.access_token)}
          trigger={(open) => (
            <Button variant="default" onClick={open}>
              {t('security.makeAccess')}
            </Button>
          )}
        >
          {t('security.makeAccessText')}
        </Confirm>
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
    </Section>
  );
}
