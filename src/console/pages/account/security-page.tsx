import { Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Page } from '../../components/page.tsx';
import { ManagementTokenSection } from './management-token-section.tsx';
import { PasswordSection } from './password-section.tsx';
import { SessionsSection } from './sessions-section.tsx';
import { TwoStepSection } from './two-step-section.tsx';

/** Everything that decides who gets into the account. */
export function SecurityPage() {
  const { t } = useTranslation('account');
  return (
    <Page title={t('security.title')} size="md">
      <Stack gap="lg">
        <TwoStepSection />
        <PasswordSection />
        <SessionsSection />
        <ManagementTokenSection />
      </Stack>
    </Page>
  );
}
