import { Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Page } from '../../components/page.tsx';
import { RecentLoginAttempts } from '../../components/recent-login-attempts.tsx';
import { SettingsSection } from '../../components/settings-section.tsx';
import { ManagementTokenSection } from './management-token-section.tsx';
import { PasswordSection } from './password-section.tsx';
import { SessionsSection } from './sessions-section.tsx';
import { TwoStepSection } from './two-step-section.tsx';

/** Everything that decides who gets into the account. */
export function SecurityPage() {
  const { t } = useTranslation(['account', 'login-history']);
  return (
    <Page title={t('security.title')} size="md">
      <Stack gap="lg">
        <TwoStepSection />
        <PasswordSection />
        <SessionsSection />
        <SettingsSection title={t('login-history:title')} subtitle={t('login-history:text')}>
          <RecentLoginAttempts />
        </SettingsSection>
        <ManagementTokenSection />
      </Stack>
    </Page>
  );
}
