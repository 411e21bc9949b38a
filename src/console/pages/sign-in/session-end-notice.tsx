import { Alert } from '@mantine/core';
import { IconInfoCircle } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { getSessionEnd } from '../../../contract/logins.ts';
import { callApi } from '../../data/api-client.ts';

const sessionEndQuery = {
  queryKey: ['session-end'],
  queryFn: async ({ signal }: { readonly signal: AbortSignal }) => (await callApi(getSessionEnd, {}, { signal })).data,
};

/** Why somebody who was signed in has to sign in again. Its height does not change when the reason arrives. */
export function SessionEndNotice() {
  const { t } = useTranslation('sign-in');
  const end = useQuery(sessionEndQuery);
  // A cookie that is gone has expired: whatever else ends a session leaves the cookie.
  const reason = end.data?.reason ?? 'expired';
  return (
    <Alert
      variant="light"
      color="yellow"
      icon={<IconInfoCircle />}
      title={t('ended.title')}
      p="sm"
      role="status"
      mih={92}
    >
      {end.isPending ? ' ' : t(`ended.reasons.${reason}`)}
    </Alert>
  );
}
