import { Box, Button, Group, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { logout } from '../../../contract/accounts.ts';
import { Page } from '../../components/page.tsx';
import { callApi, queryClient } from '../../data/api-client.ts';
import { clearUserId } from '../../data/browser-storage.ts';
import { toSafeRedirectPath } from '../../data/safe-redirect-path.ts';
import { useSelf, useStatus } from '../../data/self.ts';
import { PasskeysSection } from '../account/passkeys-section.tsx';
import { TwoStepSection } from '../account/security-page.tsx';

/** Lets an account set up the second factor that it must have, and then returns to the requested page. */
export function SecondFactorPage() {
  const { t } = useTranslation('passkeys');
  const { back } = useSearch({ from: '/sign-in/second-factor' });
  const navigate = useNavigate();
  const { data: status } = useStatus();
  // Refused until a second factor is set up.
  const self = useSelf();
  const signOut = useMutation({
    mutationFn: () => callApi(logout, {}),
    onSettled: async () => {
      clearUserId();
      queryClient.clear();
      await navigate({ to: '/sign-in' });
    },
  });
  return (
    <Box component="main" p="md" maw={720} mx="auto">
      <Page title={t('required.title')} size="md">
        <Stack gap="lg">
          <Text>{t('required.text')}</Text>
          {status?.passkeys === 'on' ? <PasskeysSection /> : null}
          <TwoStepSection />
          <Group justify="space-between">
            <Button variant="subtle" color="gray" loading={signOut.isPending} onClick={() => signOut.mutate()}>
              {t('required.signOut')}
            </Button>
            {/* A full load, because the page may be one the server renders, such as the device page. */}
            <Button disabled={!self.isSuccess} onClick={() => location.assign(toSafeRedirectPath(back))}>
              {t('required.done')}
            </Button>
          </Group>
        </Stack>
      </Page>
    </Box>
  );
}
