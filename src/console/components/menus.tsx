import { ActionIcon, useMantineColorScheme } from '@mantine/core';
import { IconLanguage } from '@tabler/icons-react';
import { lazy } from 'react';
import { useTranslation } from 'react-i18next';
import { COLOR_SCHEME_ICONS } from '../mantine-theme.ts';
import { LazyDropdownButton } from './lazy-dropdown-button.tsx';

const LanguageMenu = lazy(async () => ({ default: (await import('./header-menus.tsx')).LanguageMenu }));
const ThemeMenu = lazy(async () => ({ default: (await import('./header-menus.tsx')).ThemeMenu }));

/** Menus for language and colour scheme; the choice is stored in this browser. */
export function LanguageAndThemeMenus() {
  const { t } = useTranslation();
  const { colorScheme } = useMantineColorScheme();
  const SchemeIcon = COLOR_SCHEME_ICONS[colorScheme];
  return (
    <>
      <LazyDropdownButton
        dropdown={(button) => <LanguageMenu target={button} />}
        popup="menu"
        button={
          <ActionIcon data-hint={t('language')} size="lg" aria-label={t('language')}>
            <IconLanguage size={19} />
          </ActionIcon>
        }
      />
      <LazyDropdownButton
        dropdown={(button) => <ThemeMenu target={button} />}
        popup="menu"
        button={
          <ActionIcon data-hint={t('appearance')} size="lg" aria-label={t('appearance')}>
            <SchemeIcon size={19} />
          </ActionIcon>
        }
      />
    </>
  );
}
