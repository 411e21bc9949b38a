import { Skeleton, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { listSiteSettings, type SiteSetting } from '../../../../contract/site-settings.ts';
import { ErrorAlert } from '../../../components/error-alert.tsx';
import { Page } from '../../../components/page.tsx';
import { SettingsSection } from '../../../components/settings-section.tsx';
import { dataQuery } from '../../../data/query-any-admin-endpoint.ts';
import { SettingRow } from './setting-row.tsx';

/** The settings of the site, by subject; each is saved alone and says where its value comes from. */
export function SettingsPage() {
  const { t } = useTranslation(['admin-settings', 'app']);
  const settings = useQuery(dataQuery(listSiteSettings, {}));
  const groups = [...new Set(settings.data?.map(({ group }) => group))];
  return (
    <Page title={t('app:pages.settings')} subtitle={t('lead')} size="md">
      <ErrorAlert error={settings.error} retry={() => void settings.refetch()} />
      {settings.isLoading ? <Skeleton h={480} radius="lg" /> : null}
      <Stack gap="lg">
        {groups.map((group) => (
          <SettingsSection key={group} title={t(`groups.${group}`)}>
            <Stack gap="lg">
              {settings.data
                ?.filter((setting: SiteSetting) => setting.group === group)
                .map((setting) => (
                  <SettingRow key={`${setting.name} ${setting.value}`} setting={setting} />
                ))}
            </Stack>
          </SettingsSection>
        ))}
      </Stack>
    </Page>
  );
}
