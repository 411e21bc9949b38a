import { ActionIcon, Menu, Tooltip, useMantineColorScheme } from '@mantine/core';
import { IconDeviceDesktop, IconLanguage, IconMoon, IconSun } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { queryClient } from '../data/query-client.ts';
import { changeLanguage, currentLanguage, LANGUAGES, type Language } from '../strings/language.ts';

/** Menus for the language and the colour scheme; the choice is stored in this browser. */
export function LanguageAndThemeMenus() {
  const { t } = useTranslation();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const SchemeIcon = SCHEME_ICONS[colorScheme];
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Tooltip label={t('language')}>
            <ActionIcon size="lg" aria-label={t('language')}>
              <IconLanguage size={19} />
            </ActionIcon>
          </Tooltip>
        </Menu.Target>
        <Menu.Dropdown>
          {(Object.keys(LANGUAGES) as Language[]).map((language) => (
            <Menu.Item
              key={language}
              lang={language === 'en' ? 'en' : 'zh-CN'}
              fw={language === currentLanguage() ? 650 : 400}
              onClick={() => void changeLanguage(language).then(() => queryClient.invalidateQueries())}
            >
              {LANGUAGES[language]}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      <Menu position="bottom-end">
        <Menu.Target>
          <Tooltip label={t('appearance')}>
            <ActionIcon size="lg" aria-label={t('appearance')}>
              <SchemeIcon size={19} />
            </ActionIcon>
          </Tooltip>
        </Menu.Target>
        <Menu.Dropdown>
          {(['light', 'dark', 'auto'] as const).map((scheme) => {
            const Icon = SCHEME_ICONS[scheme];
            return (
              <Menu.Item
                key={scheme}
                leftSection={<Icon size={16} />}
                fw={scheme === colorScheme ? 650 : 400}
                onClick={() => setColorScheme(scheme)}
              >
                {t(`scheme.${scheme}`)}
              </Menu.Item>
            );
          })}
        </Menu.Dropdown>
      </Menu>
    </>
  );
}

const SCHEME_ICONS = { light: IconSun, dark: IconMoon, auto: IconDeviceDesktop } as const;
